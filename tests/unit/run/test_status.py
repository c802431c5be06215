"""The status of a study, from files that a test wrote: what is done, running, missing, and what it cost."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms import ask
from cinorms.core import tables
from cinorms.inference import job_state
from cinorms.inference.job_state import FOLDER, State
from cinorms.prompts.variants import list_variants
from cinorms.run import status
from cinorms.run.status import Row, as_text, rows_of
from cinorms.study.root import Root
from cinorms.study.spec import make_spec, make_tuning, shards_of
from cinorms.study.study import Study
from cinorms.vignettes.designs import expand

from ...studies import ARM, PROJECT
from .test_checks import project, study_of

RATES = {"usd_per_million_input": 1.0, "usd_per_million_output": 10.0}
ENTRY = {
    "engine": "openai",
    "source": "x",
    "family": "f",
    "base_url": "http://127.0.0.1:9/v1",
    "rates": RATES,
}
SELECT = {"sender": ["a fitness tracker"], "recipient": ["its manufacturer"]}
N = 9 * 12 * 4


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Return a study of one model in two shards, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    root = project(tmp_path, {"m": {**ENTRY, "shards": 2}})
    return study_of(root, ["m"], select=SELECT, templates=2, orders={"count": 2})


def answer(study: Study, shard: str, most: int | None = None, **facts: Any) -> None:
    """Ask a shard as its job does, of an engine that answers ``most`` questions and then stops."""

    class Engine:
        def ask(self, questions: Any, todo: Any, keep: Any) -> None:
            some = todo[:most]
            keep(pd.DataFrame({"at": some, "text": "neutral", "finish_reason": "stop", "usd": 0.001}))
            if most is not None:
                raise KeyboardInterrupt

        def facts(self) -> dict[str, Any]:
            return facts

    responses = "results/s/responses"
    spec = make_spec(study, "main", "m", shard)
    tuning = make_tuning(study, "main", "m", shard, responses)
    dataset = study.dataset("iot").design
    assert dataset is not None
    variants = list_variants("chatgpt", study.prompt_set("chatgpt").templates, 2, 2)
    out = Path(responses, "main/m", f"{shard}.parquet")
    journal = ask.Journal.of(tuning, spec).begin(spec)
    with job_state.followed(out):
        ask.write_shard(spec, expand(dataset), variants, out, Engine(), journal)


def row(study: Study, now: float | None = None) -> Row:
    (found,) = rows_of(study, now or time.time())
    return found


def test_nothing_has_been_asked_yet(study: Study) -> None:
    found = row(study)
    assert (found.state, found.answered, found.questions, found.usd) == ("missing", 0, N, None)
    text = as_text(study, [found])
    assert text.splitlines()[0] == "Study s: 1 missing"
    assert text.splitlines()[-1] == "There is no report yet."


def test_a_shard_is_done_and_another_was_stopped(study: Study) -> None:
    answer(study, "1-of-2")
    found = row(study)
    assert (found.state, found.answered, found.questions) == ("stopped", N // 2, N)
    with pytest.raises(KeyboardInterrupt):
        answer(study, "2-of-2", most=30)
    found = row(study)
    assert (found.state, found.answered) == ("stopped", N // 2 + 30)
    assert found.usd == pytest.approx(0.001 * (N // 2 + 30))
    assert "run again to ask the rest" in as_text(study, [found])


def test_all_is_done_and_paid_and_other_settings_make_it_outdated(study: Study, tmp_path: Path) -> None:
    for shard in shards_of(study, "main", "m"):
        answer(study, shard, gpus=2)
    page = tmp_path / "results/s/report/index.html"
    page.parent.mkdir()
    page.touch()
    found = row(study)
    assert (found.state, found.answered, found.questions, found.left) == ("done", N, N, "")
    text = as_text(study, [found])
    assert text.splitlines()[0] == f"Study s: 1 done; ${0.001 * N:.4f} spent"
    assert "Report  results/s/report/index.html" in text
    warm = study_of(study.root, ["m"], select=SELECT, templates=2, orders={"count": 2}, temperature=1)
    assert row(warm).state == "outdated"


def test_a_running_job_says_how_long_it_will_take(study: Study) -> None:
    answer(study, "1-of-2")
    now = time.time()
    stated = {"phase": "asking", "total": N // 2, "answered": 16, "rate": 10.0, "usd": 9.0, "updated": now}
    here = {"host": platform.node(), "process": os.getpid(), "trouble": "busy", "next_attempt": now + 8}
    path = Path("results/s/responses/main/m", FOLDER, "2-of-2.json")
    path.write_text(json.dumps(asdict(State("main", "m", "2-of-2", **stated, **here))))
    found = row(study, now)
    assert (found.state, found.answered, found.left) == ("running", N // 2 + 16, "20 s")
    assert found.usd == 9.0
    assert found.note == "busy, next attempt in 8 s"
    assert row(study, now + 1000).state == "stopped"


def test_gpu_minutes_where_nothing_is_priced() -> None:
    stated = {
        "arm": "a",
        "model": "m",
        "state": "done",
        "answered": 1,
        "questions": 1,
        "left": "",
        "note": "",
    }
    assert status._cost(Row(**stated, usd=None, minutes=10.0, gpus=2)) == "20 GPU-min"
    assert status._cost(Row(**stated, usd=None, minutes=10.0, gpus=0)) == "10 min"
    assert status._cost(Row(**stated, usd=None, minutes=None, gpus=0)) == "-"
    assert status._cost(Row(**stated, usd=0.0, minutes=None, gpus=0)) == "$0"


def test_the_command_needs_no_network_and_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status.main([]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Study demo: 8 missing\narm   model")
    assert out.count("228,096") == 8
    assert status.main(["--configfile", str(PROJECT / "config/replication.yaml")]) == 0
    assert "no model is asked" in capsys.readouterr().out
    assert status.main(["--configfile", "nosuch.yaml"]) == 2


def test_a_dataset_that_is_a_file_tells_its_flows_after_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = study_of(Root(PROJECT), ["planted-gpt-4o-mini"], **{**ARM, "dataset": "published_iot"})
    assert row(study).questions is None
    assert "  ?  " in as_text(study, [row(study)])
    frame = pd.DataFrame(
        {"flow": pd.array([0, 1], dtype="int32"), "vignette": ["a", "b"], "expected": [1.0, 2.0]}
    )
    tables.write(frame, tmp_path / "results/s/vignettes/published_iot.parquet", tables.VIGNETTES)
    assert row(study).questions == 2 * 33
