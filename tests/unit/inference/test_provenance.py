"""Provenance: what the files and journals of a study say, gathered."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cinorms
from cinorms.ask import write_shard
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.inference.engine_kind import make_engine
from cinorms.inference.journal import Journal
from cinorms.inference.provenance import gather
from cinorms.inference.questions import Questions
from cinorms.inference.spec import shard_names
from cinorms.prompts.variants import list_variants

from ...engines import Answering, Rows
from ...specs import make_flows, make_spec


def paid(questions: Questions, at: Rows) -> dict[str, Any]:
    """Return replies that cost a cent each; flow 0 is refused."""
    flow = questions.grid["flow"].to_numpy()[at]
    refused = flow == 0
    return {
        "text": np.where(refused, None, "neutral"),
        "finish_reason": np.where(refused, "error", "stop"),
        "error": np.where(refused, "no", None),
        "usd": np.where(refused, 0.0, 0.01),
        "n_prompt_tokens": 80,
        "n_output_tokens": 4,
        "created": 1_800_000_000 + flow,
        "fingerprint": "fp",
    }


VARIANTS = list_variants("t", ["0 {scenario} {options}", "1 {scenario} {options}"], 2, 2)


def gather_one(files: list[str], **about: Any) -> dict[str, Any]:
    """Return the provenance of a study that asked one model, whose journals are beside its responses."""
    folder = Path(files[0]).parent
    entry = {
        "arm": "main",
        "model": "m",
        "planted": False,
        "responses": files,
        "journal": {"journal": str(folder / ".journal"), "asker": []},
    }
    return gather("s", [{**entry, **about}], [], str(folder.parents[1] / ".spending"))


def ask(folder: Path, shards: int) -> list[str]:
    files = []
    for shard in shard_names(shards, 4):
        of = make_spec(shard=shard)
        out = folder / "responses" / "main" / "m" / f"{shard}.parquet"
        write_shard(
            of, make_flows(6), VARIANTS, out, Answering(paid), Journal.at(out.parent / ".journal", of).begin()
        )
        files.append(str(out))
    return files


@pytest.mark.parametrize("shards", [1, 3])
def test_what_is_gathered(tmp_path, shards):
    files = ask(tmp_path, shards)
    found = gather_one(files)
    assert json.loads(json.dumps(found)) == found
    (model,) = found["asked"]
    assert model["responses"] == model["replies_kept"] == 24
    assert model["finish_reasons"] == {"stop": 20, "error": 4}
    assert model["errors"] == {"no": 4}
    assert model["input_tokens"] == 24 * 80
    assert found["usd"] == model["usd"] == pytest.approx(0.2)
    assert (model["first_reply"], model["last_reply"]) == ("2027-01-15T08:00:00Z", "2027-01-15T08:00:05Z")
    assert model["fingerprints"] == {"fp": 24}
    assert [file["shard"] for file in model["files"]] == shard_names(shards, 4)
    assert sum(file["responses"] for file in model["files"]) == 24
    assert model["files"][0]["sha256"] == hashlib.sha256(Path(files[0]).read_bytes()).hexdigest()
    assert "shard" not in model["spec"]
    assert len(model["runs"]) == shards
    for run in model["runs"]:
        assert run["status"] == "done"
        assert run["device"] == "here"
        assert run["versions"]["cinorms"] == cinorms.__version__
        assert not {"host", "process", "spec"} & set(run)
    assert gather_one(files) == found
    assert json.loads(model["example_prompt"])[0]["content"].startswith("0 flow 0 [")
    assert hashlib.sha256(model["example_prompt"].encode()).hexdigest() == model["example_prompt_sha256"]


def test_a_damaged_file_of_responses_is_one_message(tmp_path):
    files = ask(tmp_path, 3)
    path = Path(files[2])
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:99] + b"x" + whole[100:]):
        path.write_bytes(damaged)
        with pytest.raises(DataError) as caught:
            gather_one(files)
        assert str(caught.value).startswith(f"{path}: cannot be read")
        assert str(caught.value).endswith("it is rebuilt from the journal, nothing is asked again")


@pytest.mark.parametrize("facts", [{}, {"spec": "{"}, {"spec": "[]"}, {"spec": "{}"}])
def test_responses_that_do_not_state_how_they_were_asked_are_one_message(tmp_path, facts):
    (file,) = ask(tmp_path, 1)
    tables.write(tables.read(file, tables.RESPONSES), file, tables.RESPONSES, facts)
    with pytest.raises(DataError, match="does not state how its responses were asked; delete it and rerun"):
        gather_one([file])


def test_planted_respondents_need_no_journal(tmp_path):
    made, out = (
        make_spec("planted", factors=["sender"], planted={}),
        tmp_path / "responses/main/m/1-of-1.parquet",
    )
    flows = make_flows(6, sender=pd.Categorical(["a", "b"] * 3))
    assert len(write_shard(made, flows, VARIANTS, out, make_engine(made, {}, None), None)) == 24
    assert not (out.parent / ".journal").exists()
    (model,) = gather_one([str(out)], planted=True, journal=None)["asked"]
    assert (model["planted"], model["usd"], model["runs"]) == (True, None, [])
