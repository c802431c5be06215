"""One journal for all studies and arms: nothing is asked twice, nothing is mixed, each study's costs are its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from cinorms.ask import write_shard
from cinorms.inference import journal_files
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.engine_kind import Keep
from cinorms.inference.journal import PART, Asker, Journal
from cinorms.inference.journal_files import digest_of
from cinorms.inference.questions import Questions
from cinorms.prompts.variants import list_variants

from ...specs import make_flows, make_spec

TEMPLATES = ["0 {scenario} {options}", "1: {scenario} and {options}", "2; {scenario} or {options}"]


class Sampler:
    """An engine whose replies are all different, a cent each; some prompts it cannot answer."""

    def __init__(self, name: str = "reply", refused: str = "nothing") -> None:
        self.name, self.refused = name, refused
        self.asked: list[str] = []

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        chats = [questions.chat(int(at))[-1]["content"] for at in todo]
        fine = [self.refused not in chat for chat in chats]
        texts = [f"{self.name} {len(self.asked) + i}" if ok else None for i, ok in enumerate(fine)]
        self.asked += chats
        frame = {"at": todo, "text": texts, "usd": 0.01, "n_prompt_tokens": 10}
        frame["finish_reason"] = ["stop" if ok else "error" for ok in fine]
        frame["error"] = [None if ok else "busy" for ok in fine]
        keep(pd.DataFrame(frame))

    def facts(self) -> dict[str, Any]:
        return {}


class Studies:
    """Studies in one folder of results, which ask the same model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def journal(self, study: str, arm: str, **changes: Any) -> Journal:
        asker = Asker(study, arm, "m")
        return Journal.at(self.folder / "results/.journal", self.spec(**changes), asker).begin()

    def spec(self, **changes: Any) -> Any:
        return make_spec("openai", **{"source": "s", "n_templates": 3, **changes})

    def ask(
        self,
        study: str,
        arm: str,
        engine: Sampler,
        vignettes: list[str] | None = None,
        templates: list[str] | None = None,
        orders: int = 1,
        **changes: Any,
    ) -> pd.DataFrame:
        texts = templates or TEMPLATES
        flows = make_flows(vignettes or ["a", "b", "c", "d"])
        settings = {"n_templates": len(texts), "order_method": "fixed", **changes}
        spec = self.spec(**settings)
        out = self.folder / f"results/{study}/responses/{arm}/m/{spec.shard}.parquet"
        variants = list_variants("t", texts, len(texts), orders)
        journal = self.journal(study, arm, **settings)
        return write_shard(spec, flows, variants, out, engine, journal)


@pytest.fixture
def studies(tmp_path: Path) -> Studies:
    return Studies(tmp_path)


@pytest.mark.parametrize("temperature", [0, 0.7, None])
def test_the_same_arm_of_another_study_asks_nothing(studies: Studies, temperature: float | None) -> None:
    first = studies.ask("pilot", "main", Sampler(), temperature=temperature)
    engine = Sampler("other")
    second = studies.ask("study", "whatever", engine, temperature=temperature)
    assert engine.asked == []
    pd.testing.assert_frame_equal(first, second)


def test_a_pilot_is_not_paid_twice(studies: Studies) -> None:
    """The study lists other flows first, has more templates and more orders."""
    pilot = Sampler("pilot")
    old = studies.ask("pilot", "main", pilot, ["c", "a"], TEMPLATES[:2])
    engine = Sampler("study")
    new = studies.ask("study", "main", engine, ["x", "a", "b", "c"], TEMPLATES[::-1], orders=2)
    assert len(engine.asked) == 4 * 3 * 2 - 4
    texts = set(new["text"])
    assert set(old["text"]) < texts
    assert len(texts) == 24
    # What each study paid; together, every reply counts once.
    assert studies.journal("pilot", "main").usd() == pytest.approx(0.04)
    assert studies.journal("study", "main").usd() == pytest.approx(0.20)


def test_a_reply_answers_its_own_prompt_and_no_other(studies: Studies) -> None:
    """The trap of a key that holds too little: another arm's answers under the same numbers."""
    studies.ask("one", "main", Sampler("one"))
    engine = Sampler("two")
    found = studies.ask("two", "main", engine, ["e", "f", "g", "h"])
    assert len(engine.asked) == 12
    assert found["text"].str.startswith("two").all()
    engine = Sampler("system")
    found = studies.ask("two", "more", engine, system="Be brief.")
    assert len(engine.asked) == 12


# --- What another sample is


def test_another_seed_is_another_sample_where_something_is_drawn(studies: Studies) -> None:
    studies.ask("one", "main", Sampler("one"), temperature=0.7)
    engine = Sampler("two")
    found = studies.ask("two", "main", engine, temperature=0.7, seed=99)
    assert len(engine.asked) == 12
    assert found["text"].str.startswith("two").all()
    engine = Sampler("three")
    studies.ask("three", "main", engine, temperature=0.7, seed=99)
    assert engine.asked == []


def test_at_temperature_0_a_seed_draws_nothing(studies: Studies) -> None:
    studies.ask("one", "main", Sampler("one"))
    engine = Sampler("two")
    studies.ask("two", "main", engine, seed=99)
    assert engine.asked == []


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_a_prompt_that_an_arm_has_twice_is_two_samples(studies: Studies, temperature: float) -> None:
    twice = [TEMPLATES[0], TEMPLATES[0]]
    engine = Sampler("one")
    found = studies.ask("one", "main", engine, templates=twice, temperature=temperature)
    assert len(engine.asked) == 8
    assert found["text"].nunique() == 8
    # Of the two, a study that has the prompt once takes the first; one that has it three times asks one more.
    engine = Sampler("two")
    once = studies.ask("two", "main", engine, templates=twice[:1], temperature=temperature)
    assert engine.asked == []
    assert set(once["text"]) < set(found["text"])
    studies.ask("three", "main", engine, templates=[TEMPLATES[0]] * 3, temperature=temperature)
    assert len(engine.asked) == 4


# --- Trouble


def test_what_could_not_be_answered_is_asked_again_by_others_only(studies: Studies) -> None:
    """An error is a fact of the study that met it; in another its trouble may be over."""
    first = studies.ask("one", "main", Sampler("one", refused=" b"))
    assert (first["finish_reason"] == "error").sum() == 3
    engine = Sampler("again")
    pd.testing.assert_frame_equal(studies.ask("one", "main", engine), first)
    assert engine.asked == []
    second = studies.ask("two", "main", engine)
    assert len(engine.asked) == 3
    assert (second["finish_reason"] == "stop").all()


def test_two_jobs_that_asked_the_same_at_once_agree_afterwards(studies: Studies) -> None:
    """Studies do not wait for each other. At worst both ask; from then on the older reply is everybody's."""
    one, two = Sampler("one"), Sampler("two")

    class Meanwhile(Sampler):
        def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
            studies.ask("two", "main", two)
            one.ask(questions, todo, keep)

    studies.ask("one", "main", Meanwhile())
    assert len(one.asked) == len(two.asked) == 12
    engine = Sampler("three")
    frames = [studies.ask(study, "main", engine) for study in ("one", "two", "three")]
    assert engine.asked == []
    assert all(frame["text"].str.startswith("two").all() for frame in frames)


def test_a_part_that_another_study_damaged_is_asked_again_once(studies: Studies) -> None:
    studies.ask("one", "main", Sampler("one"))
    (part,) = studies.folder.glob("results/.journal/*/parts/*")
    part.write_bytes(part.read_bytes()[:-7])
    engine = Sampler("two")
    studies.ask("two", "main", engine)
    assert len(engine.asked) == 12
    studies.ask("one", "main", engine)
    assert len(engine.asked) == 12
    (aside,) = studies.folder.glob("results/.journal/*/damaged/*")
    assert aside.name == part.name


def test_a_part_that_is_put_aside_while_it_is_read_is_no_trouble(
    studies: Studies, monkeypatch: pytest.MonkeyPatch
) -> None:
    studies.ask("one", "main", Sampler("one"))
    journal = studies.journal("two", "main", order_method="fixed")
    (part,) = journal.folder.glob("parts/*")
    monkeypatch.setattr(
        journal_files, "parts_in", lambda folder: [part.with_name("gone.m.1.x.parquet"), part]
    )
    assert journal.read().num_rows == 12


def test_parts_say_who_wrote_them_and_hold_no_name_of_a_study(studies: Studies) -> None:
    studies.ask("secret-study", "main", Sampler("one"))
    (part,) = studies.folder.glob("results/.journal/*/parts/*")
    _, mark, rows, digest, _ = part.name.split(".")
    assert mark == f"{Asker('secret-study', 'main', 'm').mark}-1-of-1"
    assert (int(rows), digest) == (12, digest_of(part.read_bytes()))
    assert b"secret" not in part.read_bytes()
    assert PART.names[0] == "prompt"


def test_records_of_jobs_are_each_askers_own(studies: Studies) -> None:
    studies.ask("one", "main", Sampler("one"))
    studies.ask("two", "main", Sampler("two"))
    (run,) = studies.journal("two", "main").runs()
    assert run["asker"] == ["two", "main", "m"]
    assert run["responses"] == {"questions": 12, "from_journal": 12, "answered": 12}
    assert run["replies"]["input_tokens"] == 120
    assert studies.journal("two", "main").usd() is None


def test_recall_alone_asks_nothing(studies: Studies) -> None:
    studies.ask("one", "main", Sampler("one"))
    flows = make_flows(["a", "new"])
    spec = studies.spec(order_method="fixed")
    questions = Questions.of(spec, flows, list_variants("t", TEMPLATES, 3, 1))
    replies = CollectedReplies(questions, studies.journal("two", "main", order_method="fixed"))
    replies.recall()
    assert replies.answered.tolist() == [True] * 3 + [False] * 3
