"""The texts of traces in the results of a study: each in its answer's place, from the store beside the studies."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.core import tables
from cinorms.core.checksums import write_tidy
from cinorms.core.errors import DataError
from cinorms.inference.engine_kind import Keep
from cinorms.inference.questions import Questions, Rows
from cinorms.inference.responses import response_metadata
from cinorms.prompts.variants import list_variants
from cinorms.results import Results, open_results
from cinorms.study.metadata import ArmMetadata, ModelMetadata, StudyMetadata

from ..asking import Echo, make_flows, make_request, responses_in
from ..asking import ask as ask_job
from ..scales import ACCEPTABILITY
from ..study_metadata import metadata

FLOWS = make_flows(3)
VARIANTS = list_variants("set", ["{scenario} {options}"], 1, 2)


def ask(folder: Path, **changes: Any) -> None:
    """Write what is collected from a model; all but one reply has a trace with its place in it."""
    questions = Questions.of(make_request(source="s", n_templates=1, **changes), FLOWS, VARIANTS)

    class Engine(Echo):
        def ask(self, asked: Questions, rows: Rows, keep: Keep) -> None:
            for at in rows.tolist():
                flow, row = asked.grid[["flow", "row"]].to_numpy()[at]
                reply = {"text": f"neutral {flow} {row}", "finish_reason": "stop"}
                trace = f"about {flow}" if at else None
                traced = {"trace": trace, "n_trace_tokens": 3, "trace_status": "whole"}
                keep(at, reply | (traced if "reasoning" in changes else {}))

    ask_job(folder / ".replies", questions, engine=Engine())
    responses, metadata = responses_in(folder / ".replies", questions), response_metadata(questions)
    tables.write(responses, folder / "study/responses/main/m.parquet", tables.RESPONSES, metadata)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Write what the study is, and return its results."""
    tables.write(FLOWS, tmp_path / "study/vignettes/iot.parquet", tables.VIGNETTES)
    tables.write(VARIANTS, tmp_path / "study/prompts/main.parquet", tables.PROMPTS)
    models = {"m": metadata(ModelMetadata), "other": metadata(ModelMetadata)}
    study = metadata(StudyMetadata, models=models, arms={"main": metadata(ArmMetadata, models=["m"])})
    (tmp_path / "study/study.json").write_text(json.dumps(study.plain()), encoding="utf-8")
    return open_results(tmp_path / "study")


def test_each_trace_is_at_the_place_of_its_answer(tmp_path, results):
    ask(tmp_path, reasoning={"effort": "low", "extra_tokens": 9})
    (tmp_path / "study/responses/main/._m.parquet").write_bytes(b"\0\5")
    found = results.traces("main", "m")
    assert found["flow"].tolist() == [0, 0, 1, 1, 2, 2]
    assert found["trace"].isna().tolist() == [True, *[False] * 5]
    assert found["trace"].dropna().tolist() == ["about 0", "about 1", "about 1", "about 2", "about 2"]
    assert set(found["variant"]) == set(VARIANTS["variant"])
    assert set(found["n_trace_tokens"]) == {3}
    some = results.traces("main", "m", flows=[2])
    assert some["trace"].tolist() == ["about 2", "about 2"]
    assert list(some) == ["arm", "model", "flow", "variant", "n_trace_tokens", "trace_status", "trace"]


def test_where_there_are_none_a_message_says_so(tmp_path, results):
    for arm, model, message in (
        ("gone", "m", "there is no arm 'gone'"),
        ("main", "gone", "there is no model 'gone'"),
        ("main", "other", "no responses with traces of model 'other' in arm 'main'"),
    ):
        with pytest.raises(DataError, match=message):
            results.traces(arm, model)
    ask(tmp_path)
    with pytest.raises(DataError, match="no responses with traces of model 'm'"):
        results.traces("main", "m")


def test_each_answer_has_its_prompt_and_its_text(tmp_path, results):
    ask(tmp_path)
    said = tables.read(tmp_path / "study/responses/main/m.parquet", tables.RESPONSES)
    answers = read_responses(said, ACCEPTABILITY)
    (tmp_path / "study/answers/main").mkdir(parents=True)
    tables.write(answers, tmp_path / "study/answers/main/m.parquet", tables.ANSWERS)
    found = results.answers(text=True)
    assert list(found) == [*results.answers(), "prompt", "text"]
    assert found["text"].tolist() == [f"neutral {flow} {row}" for flow in range(3) for row in range(2)]
    for row in found.itertuples():
        options = ", ".join(ACCEPTABILITY.options[int(place)] for place in row.order)
        assert row.prompt == f"flow {row.flow} [{options}]"
    assert results.replies("main", "m", [2])["flow"].tolist() == [2, 2]
    with pytest.raises(DataError, match=r"asked about none of these flows .* numbers 0 to 2"):
        results.replies("main", "m", [7])
    (tmp_path / "study/responses/main/m.parquet").unlink()
    assert results.answers("main", "m", text=True)[["prompt", "text"]].isna().all(axis=None)


def test_without_the_store_a_message_says_where_traces_are(tmp_path, results):
    ask(tmp_path, reasoning={"effort": "low", "extra_tokens": 9})
    (tmp_path / ".replies").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="traces are where the model was asked"):
        results.traces("main", "m")


def test_a_changed_bit_anywhere_in_the_dictionary_gets_one_message(tmp_path, results):
    table = pd.DataFrame(
        {"file": "norms.csv", "holds": "Norms.", "column": "n", "description": "+1"}, index=[0]
    )
    path, csv = (tmp_path / f"study/dictionary.{ending}" for ending in ("parquet", "csv"))
    write_tidy(table, path, csv)
    assert open_results(tmp_path / "study").describe("norms").loc["n", "description"] == "+1"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DataError, match=r"dictionary\.parquet: .*; delete it and rerun"):
            open_results(tmp_path / "study").describe("norms")


def test_a_damaged_file_of_responses_gets_one_message(tmp_path, results):
    ask(tmp_path)
    (tmp_path / "study/responses/main/m.parquet").write_bytes(b"PAR1")
    for read in (results.traces, results.replies):
        with pytest.raises(DataError, match=r"m\.parquet: cannot be read"):
            read("main", "m")
