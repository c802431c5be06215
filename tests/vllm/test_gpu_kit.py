"""The kit for one call on a GPU, dry-run here: a tiny shape, few prompts, vLLM's build for CPUs."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from .conftest import ROOT


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the JSON of a dry run."""
    out = tmp_path_factory.mktemp("gpu") / "gpu.json"
    command = [sys.executable, str(ROOT / "benchmarks/inference/gpu.py"), "--dry-run", "--out", str(out)]
    # No limit but the steps' own: a busy machine is slower, and here it is the numbers that count, not the time.
    done = subprocess.run(
        [*command, "--minutes", "30"], env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_every_step_has_run_or_says_why_not(table):
    status = {name: step["status"] for name, step in table["steps"].items()}
    assert {status[name] for name in ("peak", "cold", "published", "warm")} == {"ok"}, status
    # What a machine without GPU may not have.
    for name in ("invariant", "awq"):
        assert status[name] == "ok" or status[name].startswith("failed: "), status


def test_the_whole_path_has_run(table):
    path = table["steps"]["cold"]["path"]
    assert path["prompts"] == 12 * 33
    assert path["complete"]
    assert table["summary"]["path_runs"]


def test_rates_have_what_they_are_made_of(table):
    ours, published = table["steps"]["cold"]["rate"], table["steps"]["published"]
    assert ours["prompts"] == 220
    assert ours["share_reused"] > 0
    assert published["rate"]["share_reused"] == 0
    assert published["rate_100_tokens"]["output_tokens_per_prompt"] == 100
    assert ours["output_tokens_per_prompt"] > 7  # random weights seldom end an answer
    for rate in (ours, published["rate"], published["rate_100_tokens"]):
        assert rate["prompts_per_second"] > 0
        assert rate["flop_per_prompt"] > 0


def test_every_branch_of_the_options_is_asked(table):
    options = table["steps"]["cold"]["options"]
    assert options["prompts"] == 55
    assert options["requests_per_prompt"] > 5


def test_the_summary_is_complete_and_meets_no_goal(table):
    summary = table["summary"]
    optional = {name for name in summary if "batch_invariant" in name or "awq" in name}
    assert [name for name in set(summary) - optional if summary[name] is None] == []
    assert {goal["met"] for goal in summary["goals"].values()} == {None}
    assert table["paragraph"].startswith("A dry run, which says nothing about speed: CPU")
    assert "minutes for 228,096 prompts" in table["paragraph"]
