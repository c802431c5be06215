"""Shards cut the variants of an arm into whole runs; each time that it is asked again, its samples are its own."""

from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinorms.answers.read import repeated_answers
from cinorms.ask import write_shard
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.tables import REPEATS
from cinorms.inference import journal as journal_module
from cinorms.inference.engines.openai.endpoint import Endpoint
from cinorms.inference.journal import Asker, Journal, sample_settings
from cinorms.inference.provenance import gather
from cinorms.inference.questions import Questions
from cinorms.inference.spec import in_repeat, repeat_of, shard_names, take_shard
from cinorms.prompts.variants import list_variants

from ...engines import Answering
from ...specs import endpoint_tuning, make_flows, make_spec

TEMPLATES = ["0 {scenario} {options}", "1: {scenario} and {options}"]
FLOWS = make_flows(40)
VARIANTS = list_variants("t", TEMPLATES, 2, 3)


def questions(shard: str, **changes: Any) -> Questions:
    return Questions.of(make_spec(shard=shard, **changes), FLOWS, VARIANTS)


def todo(made: Questions) -> list[int]:
    return made.missing(np.zeros(len(made.grid), dtype=bool)).tolist()


def ask(folder: Path, shard: str, **changes: Any) -> tuple[Answering, pd.DataFrame, Path]:
    numbers = count()
    engine = Answering(lambda asked, at: {"text": [f"reply {next(numbers)}" for _ in at], "usd": 0.01})
    spec = make_spec(shard=shard, source="s", **changes)
    out = folder / f"responses/main/m/{shard}.parquet"
    journal = Journal.at(folder / ".journal", spec, Asker("study", "main", "m")).begin()
    return engine, write_shard(spec, FLOWS, VARIANTS, out, engine, journal), out


def variants_of(n_templates: int, n_orders: int) -> pd.DataFrame:
    return list_variants("set", [f"t{n}" for n in range(n_templates)], n_templates, n_orders)


@given(n_templates=st.integers(1, 12), n_orders=st.integers(1, 5), count=st.integers(1, 80))
def test_shards_together_are_all_variants_in_order(n_templates, n_orders, count):
    variants = variants_of(n_templates, n_orders)
    names = shard_names(count, len(variants))
    parts = [take_shard(variants, name) for name in names]
    assert list(pd.concat(parts)["variant"]) == list(variants["variant"])
    sizes = {len(part) for part in parts}
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert all(list(part.index) == list(range(len(part))) for part in parts)


def test_shards_have_names_and_keep_the_orders_of_a_template_together():
    assert shard_names(1, 33) == ["1-of-1"]
    assert shard_names(40, 3) == ["1-of-3", "2-of-3", "3-of-3"]
    assert list(take_shard(variants_of(11, 3), "2-of-11")["variant"]) == ["1_0", "1_1", "1_2"]
    for wrong in ("0-of-3", "4-of-3"):
        with pytest.raises(ValueError, match=wrong):
            take_shard(variants_of(3, 1), wrong)


def test_a_shard_knows_its_asking_and_holds_the_same_variants_in_each():
    assert in_repeat("2-of-3", 1) == "2-of-3"  # the first asking has the names it always had
    again = in_repeat("2-of-3", 2)
    assert (again, repeat_of(again), repeat_of("2-of-3")) == ("2-of-3-repeat-2", 2, 1)
    pd.testing.assert_frame_equal(take_shard(VARIANTS, again), take_shard(VARIANTS, "2-of-3"))


def test_the_first_asking_has_the_keys_it_always_had_and_each_repeat_has_others():
    made = {repeat: questions(in_repeat("1-of-1", repeat)) for repeat in (1, 2, 3)}
    names = {repeat: set(map(bytes, each.prompts)) for repeat, each in made.items()}
    assert len(names[1] | names[2] | names[3]) == 3 * 240
    assert {len(found) for found in names.values()} == {240}
    # Which journal it is does not depend on the asking, nor what the model sees.
    settings = [sample_settings(each.spec) for each in made.values()]
    assert settings[0] == settings[1] == settings[2]
    assert made[1].chat(7) == made[2].chat(7)


def test_a_repeat_asks_the_same_prompts_in_another_order_each_time_the_same():
    first, second, third = (todo(questions(in_repeat("1-of-1", repeat))) for repeat in (1, 2, 3))
    assert sorted(first) == sorted(second) == sorted(third)
    assert len({tuple(order) for order in (first, second, third)}) == 3
    assert todo(questions("1-of-1-repeat-2")) == second
    assert todo(questions("1-of-1-repeat-2", seed=4)) != second
    # Other batches, not only another beginning: few neighbours stay neighbours.
    pairs = {frozenset(pair) for pair in pairwise(first)}
    assert sum(frozenset(pair) in pairs for pair in pairwise(second)) < 12
    # What is left after a kill keeps its order.
    answered = np.zeros(240, dtype=bool)
    answered[second[:100]] = True
    assert questions("1-of-1-repeat-2").missing(answered).tolist() == second[100:]


@pytest.mark.parametrize("temperature", [0, 0.7, None])
def test_another_repeat_asks_the_added_asking_only(tmp_path, temperature):
    first, responses, out = ask(tmp_path, "1-of-1", temperature=temperature)
    before = out.read_bytes()
    second, again, _ = ask(tmp_path, "1-of-1-repeat-2", temperature=temperature)
    third, _, _ = ask(tmp_path, "1-of-1-repeat-3", temperature=temperature)
    assert [len(each.asked) for each in (first, second, third)] == [240] * 3
    assert sorted(first.asked) == sorted(second.asked)
    assert first.asked != second.asked
    repeated = [ask(tmp_path, in_repeat("1-of-1", n), temperature=temperature) for n in (1, 2, 3)]
    assert [engine.asked for engine, _, _ in repeated] == [[]] * 3
    assert [ask(tmp_path, f"{n}-of-2-repeat-2", temperature=temperature)[0].asked for n in (1, 2)] == [[], []]
    assert out.read_bytes() == before
    pd.testing.assert_frame_equal(repeated[1][1], again)
    assert (again["flow"] == responses["flow"]).all()


def test_the_lock_of_an_asking_has_places_of_its_own(tmp_path, monkeypatch):
    held: list[list[tuple[int, int]]] = []
    monkeypatch.setattr(journal_module, "_lock", lambda handle, places: held.append(list(places)) or True)
    for shard in ("1-of-1", "1-of-1-repeat-2", "1-of-2-repeat-2"):
        with (
            Journal.at(tmp_path, make_spec(shard=shard), Asker("study", "main", "m"))
            .begin()
            .hold([(0, 0), (10, 2)])
        ):
            pass
    first, second, part_of_second = map(set, held)
    assert first == {(0, 0), (10, 2)}
    assert not first & second
    assert second == part_of_second  # shards of one asking still exclude each other


def test_an_endpoint_draws_anew_in_a_repeat_and_is_sent_no_seed_at_temperature_0():
    def seed(shard: str, temperature: float) -> int | None:
        spec = make_spec(shard=shard, temperature=temperature, source="s")
        return Endpoint(spec, endpoint_tuning(), None).body([]).get("seed")

    assert (seed("1-of-1", 0), seed("1-of-1-repeat-2", 0)) == (None, None)
    assert (seed("1-of-1", 0.7), seed("1-of-1-repeat-2", 0.7)) == (3, 4)


def test_provenance_lists_the_files_of_the_repeats_and_counts_what_all_askings_cost(tmp_path):
    files = {shard: ask(tmp_path, shard)[2] for shard in ("1-of-1", "1-of-1-repeat-2")}
    where = {"journal": str(tmp_path / ".journal"), "asker": ["study", "main", "m"]}
    asked: dict[str, Any] = {"arm": "main", "model": "m", "planted": False, "journal": where}
    asked["responses"] = [str(files["1-of-1"])]
    both = asked | {"repeats": [str(files["1-of-1-repeat-2"])]}
    once, twice = gather("study", [asked, both], [], str(tmp_path / "spending"))["asked"]
    assert "repeats" not in once
    assert [each["shard"] for each in twice["repeats"]] == ["1-of-1-repeat-2"]
    assert (twice["responses"], twice["replies_kept"]) == (240, 480)
    assert twice["usd"] == pytest.approx(4.8)


def replies(texts: list[str | None], p: list[Any] | None = None) -> pd.DataFrame:
    n = len(texts)
    answered = [text is not None or bool(p) for text in texts]
    columns = {"flow": np.arange(n, dtype=np.int32), "p_options": p or [None] * n}
    words = {"variant": ["0_0"] * n, "order": ["01234"] * n, "text": texts}
    words["finish_reason"] = ["stop" if ok else "error" for ok in answered]
    return pd.DataFrame({**columns, **{name: pd.Categorical(values) for name, values in words.items()}})


def read(asked: pd.DataFrame) -> pd.DataFrame:
    ok = asked["text"].notna().to_numpy()
    level = pd.arrays.IntegerArray(np.ones(len(asked), dtype=np.int8), ~ok)
    facts = {"level": level, "status": np.where(ok, "ok", "error"), "rule": "exact", "p_options": None}
    return asked[["flow", "variant", "order"]].assign(**facts)


def test_a_reply_is_the_same_letter_by_letter_and_one_that_failed_is_not_compared(tmp_path):
    first, again = replies(["neutral", "neutral", None, "no"]), replies(["neutral", "Neutral", "no", None])
    table = repeated_answers(first, {3: again, 2: first}, {3: read(again), 2: read(first)})
    assert table["repeat"].tolist() == [2] * 4 + [3] * 4
    assert table["same_reply"].tolist() == [True, True, pd.NA, True, True, False, pd.NA, pd.NA]
    tables.write(table, tmp_path / "r.parquet", REPEATS)
    found = tables.read(tmp_path / "r.parquet", REPEATS)
    assert found["same_reply"].isna().sum() == 3


def test_probabilities_are_compared_number_by_number_and_other_questions_are_refused():
    one, other = np.array([0.5, 0.5], dtype=np.float32), np.array([0.5, 0.25], dtype=np.float32)
    first, again = replies([None] * 2, p=[one, one]), replies([None] * 2, p=[one.copy(), other])
    table = repeated_answers(first, {2: again}, {2: read(again)})
    assert table["same_reply"].tolist() == [True, False]
    with pytest.raises(DataError, match="repeat 2 does not have the questions of the first asking"):
        repeated_answers(replies(["a", "b"]), {2: replies(["a"])}, {2: read(replies(["a"]))})
