"""The kit for one call on a GPU, dry-run here: a tiny shape, few prompts, vLLM's build for CPUs."""

import json
import os
import subprocess
import sys

from .conftest import ROOT

RUN = ("peak", "cold", "published", "warm")


def test_a_dry_run_of_the_kit_asks_and_counts_in_every_step(tmp_path):
    out = tmp_path / "gpu.json"
    command = [sys.executable, str(ROOT / "benchmarks/inference/gpu.py"), "--dry-run", "--out", str(out)]
    # No limit but the steps' own: a busy machine is slower, and here it is the numbers that count, not the time.
    command += ["--minutes", "30", "--steps", *RUN]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    table = json.loads(out.read_text())
    steps, summary = table["steps"], table["summary"]
    status = {name: step["status"] for name, step in steps.items()}
    assert {status[name] for name in RUN} == {"ok"}, status
    assert status["invariant"] == "skipped: not among --steps"
    path, cold, published = steps["cold"]["path"], steps["cold"]["rate"], steps["published"]
    assert (path["prompts"], path["complete"]) == (12 * 33, True)
    assert (cold["prompts"], published["rate_100_tokens"]["output_tokens_per_prompt"]) == (220, 100)
    assert cold["share_reused"] > 0 == published["rate"]["share_reused"]
    for rate in (cold, published["rate"], published["rate_100_tokens"]):
        assert min(rate["prompts_per_second"], rate["flop_per_prompt"]) > 0
    options = steps["cold"]["options"]
    assert (options["prompts"], options["requests_per_prompt"] > 5) == (55, True)
    optional = {name for name in summary if "batch_invariant" in name or "awq" in name}
    assert [name for name in set(summary) - optional if summary[name] is None] == []
    assert {goal["met"] for goal in summary["goals"].values()} == {None}
    assert table["paragraph"].startswith("A dry run, which says nothing about speed: CPU")
