"""Reading an arm: answers, review and settled responses; incomplete and foreign files are refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.coding.whole_arm import ReadArm, read_arm
from cinorms.answers.read import text_hash
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.inference.questions import Questions
from cinorms.inference.responses import response_metadata
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
def path(tmp_path: Path) -> str:
    chance, path = np.random.default_rng(4), str(tmp_path / "m.parquet")
    frame = QUESTIONS.named()
    frame["text"] = pd.Categorical.from_codes(chance.integers(0, len(TEXTS), len(frame)), categories=TEXTS)
    frame["finish_reason"] = pd.Categorical(["stop"] * len(frame))
    frame = frame.assign(n_prompt_tokens=np.int32(1), n_output_tokens=np.int32(1), p_options=None)
    tables.write(frame, path, tables.RESPONSES, response_metadata(QUESTIONS))
    return path


def read(path: str, **asked: str) -> ReadArm:
    overrides = pd.DataFrame(
        {"sha256": [text_hash("I cannot say.")], "level": pd.array([1], dtype="Int8"), "status": ["ok"]}
    ).assign(flow=pd.array([None], dtype="Int64"))
    request = {**REQUEST.plain(), **asked}
    return read_arm(path, VIGNETTES, VARIANTS, ACCEPTABILITY, "m", request, overrides)


def test_an_arm_is_read_with_what_a_person_settled_and_what_to_review(path):
    found, texts = read(path), tables.read(path, tables.RESPONSES)["text"]
    n = int((texts == "I cannot say.").sum())
    assert found.settled["n_responses"].tolist() == [n]
    assert (found.answers["rule"] == "override").sum() == n > 0
    assert found.answers["level"].notna().sum() == len(texts) - (texts == "It depends on consent.").sum()
    assert set(found.review["text"]) == {"It depends on consent.", "I cannot say."}


def test_a_flow_that_is_missing_is_noticed(path):
    frame, lost = tables.read(path, tables.RESPONSES), N_FLOWS - 1
    tables.write(frame[frame["flow"] != lost], path, tables.RESPONSES, response_metadata(QUESTIONS))
    with pytest.raises(DataError, match=f"6 of .* questions are missing, e.g. flow {lost}"):
        read(path)


def test_another_models_responses_are_refused(path):
    with pytest.raises(
        DataError, match=r"m\.parquet: has the responses of m, expected other; delete it and rerun"
    ):
        read(path, model="other")
