"""One journal for all studies and arms: nothing is asked twice, nothing is mixed, each study's costs are its own."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.ask import write_shard
from cinorms.inference import journal_files
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.journal import PART, Asker, Journal
from cinorms.inference.journal_files import digest_of
from cinorms.inference.questions import Questions
from cinorms.prompts.variants import list_variants

from ...engines import Answering, Rows, prompts_of
from ...specs import make_flows, make_spec

TEMPLATES = ["0 {scenario} {options}", "1: {scenario} and {options}", "2; {scenario} or {options}"]


def sampler(name: str = "reply", refused: str = "nothing") -> Answering:
    """Return an engine whose replies are all different, a cent each; it cannot answer prompts with ``refused``."""
    numbers = count()

    def replies(questions: Questions, at: Rows) -> dict[str, Any]:
        fine = [refused not in prompt for prompt in prompts_of(questions, at)]
        return {
            "text": [f"{name} {next(numbers)}" if ok else None for ok in fine],
            "finish_reason": ["stop" if ok else "error" for ok in fine],
            "error": [None if ok else "busy" for ok in fine],
            "usd": 0.01,
            "n_prompt_tokens": 10,
        }

    return Answering(replies)


class Studies:
    """Studies in one folder of results, which ask the same model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def spec(self, **changes: Any) -> Any:
        return make_spec("openai", **{"source": "s", "n_templates": 3, "order_method": "fixed", **changes})

    def journal(self, study: str, **changes: Any) -> Journal:
        asker = Asker(study, "main", "m")
        return Journal.at(self.folder / "results/.journal", self.spec(**changes), asker).begin()

    def ask(
        self,
        study: str,
        engine: Answering,
        vignettes: Sequence[str] = "abcd",
        templates: Sequence[str] = TEMPLATES,
        orders: int = 1,
        **changes: Any,
    ) -> pd.DataFrame:
        settings = {"n_templates": len(templates), **changes}
        variants = list_variants("t", templates, len(templates), orders)
        out, journal = self.folder / f"results/{study}.parquet", self.journal(study, **settings)
        return write_shard(self.spec(**settings), make_flows(vignettes), variants, out, engine, journal)


@pytest.fixture
def studies(tmp_path: Path) -> Studies:
    return Studies(tmp_path)


@pytest.mark.parametrize("temperature", [0, 0.7, None])
def test_the_same_arm_of_another_study_asks_nothing(studies, temperature):
    first = studies.ask("pilot", sampler(), temperature=temperature)
    engine = sampler("other")
    second = studies.ask("study", engine, temperature=temperature)
    assert engine.asked == []
    pd.testing.assert_frame_equal(first, second)


def test_a_pilot_is_not_paid_twice(studies):
    """The study lists other flows first, has more templates and more orders."""
    pilot = sampler("pilot")
    old = studies.ask("pilot", pilot, ["c", "a"], TEMPLATES[:2])
    engine = sampler("study")
    new = studies.ask("study", engine, ["x", "a", "b", "c"], TEMPLATES[::-1], orders=2)
    assert len(engine.asked) == 4 * 3 * 2 - 4
    texts = set(new["text"])
    assert set(old["text"]) < texts
    assert len(texts) == 24
    # What each study paid; together, every reply counts once.
    assert studies.journal("pilot").usd() == pytest.approx(0.04)
    assert studies.journal("study").usd() == pytest.approx(0.20)


def test_a_reply_answers_its_own_prompt_and_no_other(studies):
    """The trap of a key that holds too little: another arm's answers under the same numbers."""
    studies.ask("one", sampler("one"))
    found = studies.ask("two", sampler("two"), "efgh")
    assert found["text"].str.startswith("two").all()
    found = studies.ask("three", sampler("three"), system="Be brief.")
    assert found["text"].str.startswith("three").all()


# --- What another sample is


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_a_prompt_that_an_arm_has_twice_is_two_samples(studies, temperature):
    twice = [TEMPLATES[0], TEMPLATES[0]]
    engine = sampler("one")
    found = studies.ask("one", engine, templates=twice, temperature=temperature)
    assert len(engine.asked) == 8
    assert found["text"].nunique() == 8
    # Of the two, a study that has the prompt once takes the first; one that has it three times asks one more.
    engine = sampler("two")
    once = studies.ask("two", engine, templates=twice[:1], temperature=temperature)
    assert engine.asked == []
    assert set(once["text"]) < set(found["text"])
    studies.ask("three", engine, templates=[TEMPLATES[0]] * 3, temperature=temperature)
    assert len(engine.asked) == 4


# --- Trouble


def test_what_could_not_be_answered_is_asked_again_by_others_only(studies):
    """An error is a fact of the study that met it; in another its trouble may be over."""
    first = studies.ask("one", sampler("one", refused=" b"))
    assert (first["finish_reason"] == "error").sum() == 3
    engine = sampler("again")
    pd.testing.assert_frame_equal(studies.ask("one", engine), first)
    assert engine.asked == []
    second = studies.ask("two", engine)
    assert len(engine.asked) == 3
    assert (second["finish_reason"] == "stop").all()


def test_two_jobs_that_asked_the_same_at_once_agree_afterwards(studies):
    """Studies do not wait for each other. At worst both ask; from then on the older reply is everybody's."""
    one, two, three = sampler("one"), sampler("two"), sampler("three")

    def meanwhile(questions: Questions, at: Rows) -> Any:
        studies.ask("two", two)
        return one.replies(questions, at)

    first = Answering(meanwhile)
    studies.ask("one", first)
    assert len(first.asked) == len(two.asked) == 12
    frames = [studies.ask(study, three) for study in ("one", "two", "three")]
    assert three.asked == []
    assert all(frame["text"].str.startswith("two").all() for frame in frames)


def test_a_part_that_is_put_aside_while_it_is_read_is_no_trouble(studies, monkeypatch):
    studies.ask("one", sampler("one"))
    journal = studies.journal("two")
    (part,) = journal.folder.glob("parts/*")
    monkeypatch.setattr(
        journal_files, "parts_in", lambda folder: [part.with_name("gone.m.1.x.parquet"), part]
    )
    assert journal.read().num_rows == 12


def test_parts_say_who_wrote_them_and_hold_no_name_of_a_study(studies):
    studies.ask("secret-study", sampler("one"))
    (part,) = studies.folder.glob("results/.journal/*/parts/*")
    _, mark, rows, digest, _ = part.name.split(".")
    assert mark == f"{Asker('secret-study', 'main', 'm').mark}-1-of-1"
    assert (int(rows), digest) == (12, digest_of(part.read_bytes()))
    assert b"secret" not in part.read_bytes()
    assert PART.names[0] == "prompt"


def test_records_of_jobs_are_each_askers_own(studies):
    studies.ask("one", sampler("one"))
    studies.ask("two", sampler("two"))
    (run,) = studies.journal("two").runs()
    assert run["asker"] == ["two", "main", "m"]
    assert run["responses"] == {"questions": 12, "from_journal": 12, "answered": 12}
    assert run["replies"]["input_tokens"] == 120
    assert studies.journal("two").usd() is None


def test_recall_alone_asks_nothing(studies):
    studies.ask("one", sampler("one"))
    flows = make_flows(["a", "new"])
    spec = studies.spec(order_method="fixed")
    questions = Questions.of(spec, flows, list_variants("t", TEMPLATES, 3, 1))
    replies = CollectedReplies(questions, studies.journal("two"))
    for _ in range(2):  # as after waiting for another job
        replies.recall()
        assert replies.answered.tolist() == [True] * 3 + [False] * 3
        assert replies.counts() == {"questions": 6, "from_journal": 3, "answered": 3}
