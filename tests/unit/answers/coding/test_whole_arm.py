"""Responses read by ranges of flows give what reading them at once gives, and norms too."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.coding.whole_arm import ArmReader
from cinorms.answers.overrides import merge_reviews
from cinorms.answers.read import text_hash
from cinorms.core import sealing, tables
from cinorms.core.errors import DataError
from cinorms.inference.questions import Questions
from cinorms.inference.responses import response_facts
from cinorms.prompts.variants import list_variants

from ....asking import make_flows, make_request
from ....scales import ACCEPTABILITY

N_FLOWS = 90
REQUEST = make_request("planted", order_method="random", n_templates=2)
VARIANTS = list_variants("p", ["{scenario} {options}"] * 2, 2, 3)
VIGNETTES = make_flows(N_FLOWS)
QUESTIONS = Questions.of(REQUEST, VIGNETTES, VARIANTS)
TEXTS = [*ACCEPTABILITY.options, "It depends on consent.", "I cannot say."]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sealing, "GROUP_ROWS", 20)
    chance, path = np.random.default_rng(4), str(tmp_path / "m.parquet")
    frame = QUESTIONS.named()
    frame["text"] = pd.Categorical.from_codes(chance.integers(0, len(TEXTS), len(frame)), categories=TEXTS)
    frame["finish_reason"] = pd.Categorical(["stop"] * len(frame))
    frame = frame.assign(n_prompt_tokens=np.int32(1), n_output_tokens=np.int32(1), p_options=None)
    tables.write(frame, path, tables.RESPONSES, response_facts(QUESTIONS))
    return path


def reader() -> ArmReader:
    overrides = pd.DataFrame(
        {"sha256": [text_hash("I cannot say.")], "level": pd.array([1], dtype="Int8"), "status": ["ok"]}
    ).assign(flow=pd.array([None], dtype="Int64"))
    return ArmReader(VIGNETTES, VARIANTS, ACCEPTABILITY, REQUEST.plain(), overrides)


def read(path: str, most: int | None, out: Path) -> tuple[ArmReader, pd.DataFrame]:
    whole = reader()
    tables.write_ranges(whole.read(path, most), out, tables.ANSWERS)
    return whole, tables.read(out, tables.ANSWERS)


@pytest.mark.parametrize(("most", "n_ranges"), [(1_000, 1), (200, 3), (45, 12)])
def test_ranges_give_the_answers_reviews_and_counts_of_the_whole(path, tmp_path, most, n_ranges):
    whole, expected = read(path, None, tmp_path / "whole.parquet")
    parts, found = read(path, most, tmp_path / "parts.parquet")
    assert (len(whole.reviews), len(parts.reviews)) == (1, n_ranges)
    pd.testing.assert_frame_equal(found.astype(str), expected.astype(str))
    pd.testing.assert_frame_equal(merge_reviews(parts.reviews), merge_reviews(whole.reviews))
    assert parts.statuses.to_dict() == whole.statuses.to_dict()
    assert sum(parts.settled).tolist() == sum(whole.settled).tolist() != [0]


def test_a_flow_that_is_missing_is_noticed_in_its_range(path, tmp_path):
    frame, lost = tables.read(path, tables.RESPONSES), N_FLOWS - 1
    tables.write(frame[frame["flow"] != lost], path, tables.RESPONSES, response_facts(QUESTIONS))
    with pytest.raises(DataError, match=f"6 of .* questions are missing, e.g. flow {lost}"):
        read(path, 100, tmp_path / "answers.parquet")
    assert not (tmp_path / "answers.parquet").exists()


def test_another_models_responses_are_refused(path):
    other = reader()
    other.asked = {**REQUEST.plain(), "model": "other"}
    with pytest.raises(
        DataError, match=r"m\.parquet: has the responses of m, expected other; delete it and rerun"
    ):
        list(other.read(path))


def test_a_selection_is_read_whole(path):
    selected = reader()
    selected.asked = {**REQUEST.plain(), "select": {"vignette": ["flow 1"]}}
    with pytest.raises(DataError):
        list(selected.read(path, 10))
    assert selected.reviews == []
