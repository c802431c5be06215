"""The status of a study, from files that a test wrote: what is done, running, missing, and what it cost."""

import json
import os
import platform
import shutil
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import pytest

from cinorms.core import tables
from cinorms.core.root import Root
from cinorms.inference.job_state import AskingState, followed, state_file
from cinorms.inference.questions import Questions
from cinorms.inference.responses import response_metadata
from cinorms.inference.store import stores_of
from cinorms.report.cards import card_json, make_card
from cinorms.report.standing import standing_of
from cinorms.run import status
from cinorms.run.expected_cost import expected_usd
from cinorms.run.left import flows_of, left_to_ask, response_file, summary, variants_of
from cinorms.run.progress import Follower
from cinorms.run.slurm import Waiting, job_name
from cinorms.run.status import Row, as_text, rows_of
from cinorms.study.plan import estimate
from cinorms.study.requests import request_of, shards_of
from cinorms.study.study import Study

from ...asking import Echo, ask, make_flows, responses_in
from ...studies import ARM, PROJECT
from ...study_folder import make_results
from .test_checks import elsewhere, project, study_of  # noqa: F401

RATES = {"usd_per_million_input": 1.0, "usd_per_million_output": 10.0}
SOURCE = {"source": "x", "base_url": "http://127.0.0.1:9/v1"}
ENTRY = {"engine": "openai", "family": "f", "rates": RATES, **SOURCE}
SELECT = {"sender": ["a fitness tracker"], "recipient": ["its manufacturer"]}
N = 9 * 12 * 4
#: Of the questions, those of the first shard.
FIRST = 224
SHARDS = ("1-of-2", "2-of-2")
NOTHING_LEFT = "nothing is left to ask"
PROGRESS = Path("results/s/.progress")


@pytest.fixture
def study(elsewhere: Path, tmp_path: Path) -> Study:  # noqa: F811
    """Return a study of one model in two shards, in an empty folder."""
    return study_in(small_project(tmp_path))


def small_project(folder: Path) -> Root:
    """Return a project whose registry has one model."""
    root = project(folder, {})
    (folder / "config/models.yaml").write_text(json.dumps({"m": {**ENTRY, "shards": 2}}))
    return root


def study_in(root: Root, **arm: Any) -> Study:
    return study_of(root, ["m"], select=SELECT, templates=2, orders={"count": 2}, **arm)


def questions_of(study: Study) -> Questions:
    flows = flows_of(study, "iot")
    assert flows is not None
    return Questions.of(request_of(study, "main", "m"), flows, variants_of(study, "main")[0])


def answer(study: Study, *shards: str, most: int = 10**9, asker: str = "s", **reply: Any) -> int:
    """Ask shards as their jobs do, of an engine that stops after ``most`` replies, and collect; return how many."""
    questions, asked, stores = questions_of(study), 0, stores_of(study.results)
    for shard in shards:
        engine = Echo(most, **{"usd": 0.001, **reply})
        try:
            with followed(PROGRESS, "m", shard):
                ask(stores, questions, engine=engine, shard=shard, study=asker)
        finally:
            asked += len(engine.prompts)
    if len(shards) == 2:
        responses, path = responses_in(stores, questions), response_file(study, "main", "m")
        tables.write(responses, path, tables.RESPONSES, response_metadata(questions))
    return asked


def row(study: Study, now: float | None = None) -> Row:
    (found,) = rows_of(study, now or time.time(), {})
    return found


def test_nothing_has_been_asked_yet(study):
    found = row(study)
    assert (found.state, found.answered, found.questions, found.usd) == ("missing", 0, N, None)
    lines = as_text(study, [found]).splitlines()
    assert (lines[0], lines[-1]) == ("Study s: 1 missing", "There is no report yet.")


def test_a_job_is_done_and_another_was_stopped(study):
    assert answer(study, "1-of-2") == FIRST
    found = row(study)
    assert (found.state, found.answered, found.questions) == ("stopped", FIRST, N)
    write_state("1-of-2", phase="done")
    assert row(study).state == "stopped"
    write_state("2-of-2", phase="done")
    assert row(study).state == "missing", "both ended: what is left was added later"
    with pytest.raises(InterruptedError):
        answer(study, "2-of-2", most=30)
    found = row(study)
    assert (found.state, found.answered, found.note) == ("failed", FIRST + 30, "InterruptedError: stopped")
    assert found.usd == pytest.approx(0.001 * (FIRST + 30))


def test_all_is_done_and_paid_and_other_settings_make_it_outdated(study, tmp_path):
    answer(study, *SHARDS)
    page = tmp_path / "results/s/report/index.html"
    page.parent.mkdir()
    page.touch()
    found = row(study)
    assert (found.state, found.answered, found.questions, found.left) == ("done", N, N, 0)
    text = as_text(study, [found])
    assert text.splitlines()[0] == f"Study s: 1 done; ${0.001 * N:.4f} spent"
    assert "Report  results/s/report/index.html" in text
    card = make_card(make_results(tmp_path / "other", models=["model-a"]), "model-a")
    (tmp_path / "results/s/cards/m.json").parent.mkdir()
    (tmp_path / "results/s/cards/m.json").write_text(card_json(card), encoding="utf-8")
    said = f"\n\nAsked in other words, model-a takes the same side {standing_of(card).number} of the time"
    assert said in as_text(study, [found]), "what the report says first"
    assert said not in as_text(study, [found._replace(state="running")])
    warm = study_in(study.root, temperature=1)
    assert (row(warm).state, row(warm).answered, row(warm).left) == ("outdated", 0, N)
    # Whether a run would see that is for Snakemake to say: `--touch` makes it find nothing to do.
    assert "If that finds nothing to do (after `--touch`, say), add `--forceall`" in row(warm).note


def test_what_failed_is_counted_and_left_until_a_run_has_an_answer(study):
    answer(study, *SHARDS, error="503", failed=True)
    about = response_file(study, "main", "m").with_suffix(".json")
    about.write_text(json.dumps({"failed": N}))
    found = row(study)
    note = f"{N} questions failed for technical reasons; a new run asks them again"
    assert (found.state, found.answered, found.left, found.note) == ("done", 0, N, note)
    assert summary(left_to_ask(study)) == f"1 model in 1 arm left to ask, {N} prompts"
    write_state("1-of-2", phase="asking", updated=time.time())
    assert row(study).state == "running"
    answer(study, *SHARDS)
    about.write_text(json.dumps({"failed": 0}))
    write_state("1-of-2", phase="done")
    assert (row(study).state, row(study).left, row(study).note) == ("done", 0, "")
    assert summary(left_to_ask(study)) == NOTHING_LEFT


def edited(folder: Path, file: str, old: str, new: str) -> Study:
    """Return the study with ``old`` replaced in a file of the project's resources; its results stay where they are."""
    folder.mkdir()
    root = small_project(folder)
    path = folder / "resources" / file
    if path.parent.is_symlink():
        path.parent.unlink()
        shutil.copytree(PROJECT / "resources" / path.parent.name, path.parent)
    text = path.read_text()
    assert old in text
    path.unlink()
    path.write_text(text.replace(old, new, 1))
    return study_in(root)


#: Edits of a file, and how many prompts each leaves to ask.
EDITS = (
    ("vignettes/iot.yaml", "- a door lock", "- a lock", 0),  # not selected
    ("prompts/chatgpt.yaml", "To what degree", "How much", 0),  # not among the two templates
    ("vignettes/iot.yaml", "- owner's eating habits", "- owner's diet", N // 9),
    # Flows with other numbers have other orders of the options, most of them.
    ("vignettes/iot.yaml", "    - a door lock\n", "", 334),
    ("prompts/chatgpt.yaml", "Please rate how acceptable", "Rate how acceptable", N // 2),
    ("scales/acceptability.yaml", "somewhat acceptable", "rather acceptable", N),
)


def test_what_an_edited_dataset_or_prompt_set_leaves_to_ask_is_what_a_run_then_asks(study, tmp_path):
    answer(study, *SHARDS)
    for number, (file, old, new, left) in enumerate(EDITS):
        changed = edited(tmp_path / f"edit{number}", file, old, new)
        found, words = row(changed), summary(left_to_ask(changed))
        state = "outdated" if left else "done"
        assert (found.state, found.answered, found.left) == (state, N - left, left), old
        assert words == (f"1 model in 1 arm left to ask, {left} prompts" if left else NOTHING_LEFT)
        if left:
            assert answer(changed, *SHARDS) == left
            assert (row(changed).state, row(changed).left) == ("done", 0)
    # As it was before: the store still has every reply.
    assert (row(study).state, row(study).left) == ("asked", 0)
    taken = f"{NOTHING_LEFT}; the next run takes the replies of 1 model in 1 arm from the store"
    assert summary(left_to_ask(study)) == taken


def test_what_is_left_is_looked_up_below_the_prefix_of_a_module(study):
    moved = replace(study, root=replace(study.root, results=Path("audit/results")))
    answer(moved, *SHARDS)
    assert summary(left_to_ask(moved)) == NOTHING_LEFT
    assert summary(left_to_ask(study)) == f"1 model in 1 arm left to ask, {N} prompts"


def test_what_other_studies_have_asked_is_not_left(study):
    answer(study, "1-of-2", asker="pilot")
    found = row(study)
    assert (found.answered, found.left, found.cost) == (FIRST, N - FIRST, "-")
    assert shards_of(study, "m") == list(SHARDS)


def test_without_prices_a_cost_is_the_time_on_the_most_gpus(study, monkeypatch):
    def run(gpus: str, minutes: int, asker: str = "s") -> dict[str, str]:
        ended = f"2026-01-01T00:{minutes}:00"
        return {"study": asker, "started": "2026-01-01T00:00:00", "ended": ended, "gpus": gpus}

    for runs, cost in (
        ([run("", 10), run("2", 20), run("2", 50, "pilot")], "60 GPU-min"),
        ([run("", 10), {"study": "s", "started": "2026-01-01T00:00:00"}], "10 min"),
    ):
        store = SimpleNamespace(folder="f", usd=lambda: None, runs=lambda runs=runs: runs)
        monkeypatch.setattr(status, "store_of", lambda *_, store=store: store)
        assert (row(study).cost, row(study).usd) == (cost, None)


def write_state(shard: str, **stated: Any) -> None:
    here = {"host": platform.node(), "process": os.getpid()}
    PROGRESS.mkdir(parents=True, exist_ok=True)
    state_file(PROGRESS, "m", shard).write_text(json.dumps(asdict(AskingState(**stated, **here))))


def test_a_running_job_says_how_far_it_is_and_how_long_it_will_take(study):
    answer(study, "1-of-2")
    now = time.time()
    stated = {"phase": "asking", "total": N - FIRST, "answered": 160, "first": now - 40, "updated": now}
    write_state("2-of-2", **stated, trouble="busy", since=now - 8)
    found = row(study, now)
    assert (found.state, found.answered, found.left) == ("running", FIRST, N - FIRST)
    assert found.note == "160 of 208 answered (77%), 4.0/s, 12 s left; busy, for 8 s"
    assert row(study, now + 1000).state == "stopped"


def test_what_waits_in_the_queue_or_for_a_living_run_is_not_called_stopped(study):
    write_state("2-of-2", phase="stopped")
    held = Waiting("held", "job 12 waits (JobHeldUser); release it with `scontrol release 12`")
    (found,) = rows_of(study, time.time(), {job_name("m", "2-of-2"): held})
    assert (found.state, found.note) == (held.state, held.note)
    (found,) = rows_of(study, time.time(), {job_name("other", "2-of-2"): held})
    assert found.state == "stopped"
    assert "run again to ask the rest" in as_text(study, [found])
    follower = Follower(Path("results/s"), {})
    follower.start()
    assert (row(study).state, row(study).note) == ("waiting", "the run that is under way asks the rest")
    follower.stop()
    assert row(study).state == "stopped"


def test_the_command_needs_no_network_no_results_and_no_answer_of_slurm(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squeue").write_text("#!/bin/sh\necho 'slurm_load_jobs error: no controller' >&2; exit 1\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert status.main([]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Study demo: 8 missing\narm   model")
    assert out.count("0    228,096  228,096") == 8
    assert "squeue fails (slurm_load_jobs error: no controller)" in out
    assert status.main(["--configfile", str(PROJECT / "config/replication.yaml")]) == 0
    assert "no model is asked" in capsys.readouterr().out
    assert status.main(["--configfile", "nosuch.yaml"]) == 2


def test_of_a_study_that_is_done_slurm_is_not_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(status, "rows_of", lambda *_: [Row("main", "m", "done", 1, 1, 0, "$0", 0.0, "")])
    monkeypatch.setattr(status, "waiting_jobs", lambda *_: pytest.fail("nothing waits"))
    assert status.main([]) == 0
    assert capsys.readouterr().out.startswith("Study demo: 1 done")


def test_a_dataset_that_is_a_file_tells_its_flows_after_it_was_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CINORMS_MIRROR", raising=False)
    study = study_of(Root(PROJECT), ["planted-gpt-4o-mini"], **{**ARM, "dataset": "published_iot_null"})
    assert row(study).questions is None
    assert "    0          ?     ?  " in as_text(study, [row(study)])
    flows = make_flows(["a", "b"])
    tables.write(flows, tmp_path / "results/s/vignettes/published_iot_null.parquet", tables.VIGNETTES)
    assert row(study).questions == 2 * 33


def test_watch_shows_it_again_until_ctrl_c(study, monkeypatch, capsys):
    sleep = Mock(side_effect=[None, KeyboardInterrupt])
    monkeypatch.setattr(status, "read_study", lambda given: study)
    monkeypatch.setattr(
        status, "time", SimpleNamespace(time=time.time, sleep=sleep)
    )  # other threads sleep too
    with pytest.raises(KeyboardInterrupt):
        status.main(["--watch"])
    assert capsys.readouterr().out.count("Study s: ") == 2


def test_jobs_share_a_cap_by_what_the_plan_expects_whether_or_not_there_are_paraphrases(elsewhere, tmp_path):  # noqa: F811
    dear = {**ENTRY, "rates": {name: 3 * usd for name, usd in RATES.items()}}
    root = project(tmp_path, {"m": ENTRY, "dear": dear})
    study = study_of(root, ["m", "dear"], select=SELECT, templates=2, orders={"count": 2})
    expected = expected_usd(study)
    assert expected["dear"] == pytest.approx(3 * expected["m"])
    flows, (variants, _) = flows_of(study, "iot"), variants_of(study, "main")
    planned = estimate(study.asked(), {"iot": flows}, {"main": variants}).set_index("model")["usd"]
    assert expected["m"] == pytest.approx(planned["m"], rel=0.05)
    wordings = study.prompt_set("chatgpt")
    longer = replace(wordings, templates=[wordings.templates[0], "x" * 9999])
    with patch.object(Study, "prompt_set", lambda *_: longer):
        assert expected_usd(study) == expected
