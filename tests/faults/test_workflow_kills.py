"""The whole workflow killed again and again, at any moment: the results are those of a run that nothing stopped."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
KILLS = 4
#: Seconds that a run lives before it is killed: from its start to some stages later.
LIVES = (1.0, 5.0)

STUDY = {
    "study": "killed",
    "models": ["planted-llama-3.1-8b", "planted-tulu-2-7b"],
    "arms": {
        "main": {
            "dataset": "iot",
            "prompts": "chatgpt",
            "select": {
                "sender": ["a fitness tracker"],
                "recipient": ["its manufacturer", "the local police"],
            },
        }
    },
    "norms": {"t_val": 5, "grid": {"t_val": [5], "t_maj": ["plurality", 0.5]}},
    "analyses": {
        "answers": {"kind": "answer_counts", "arms": ["main"]},
        "norms": {"kind": "norm_counts", "arms": ["main"]},
        "dependence": {"kind": "flow_dependence", "arms": ["main"]},
        "again": {"kind": "norms_again", "arms": ["main"]},
    },
    "figures": {
        "answers": {"kind": "distribution", "arms": ["main"]},
        "held": {"kind": "norm_distribution", "arms": ["main"]},
    },
    "printed": {"models": {"kind": "models", "title": "Models"}},
}


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start the workflow in ``folder``, in a process group of its own."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
    profile = str(ROOT / "profiles/default")
    command += ["--workflow-profile", profile, "--configfile", "study.yaml", "--quiet", *more]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "errors.txt").open("w"),
        start_new_session=True,
    )


def made(folder: Path) -> dict[str, bytes]:
    """Return every file of the results that says nothing of when it was made."""
    results = folder / "results/killed"
    files = (
        path
        for path in results.rglob("*")
        if path.is_file() and not any(p.startswith(".") for p in path.parts)
    )
    # The page and the cards name the run's times; their numbers are those of the tables.
    kept = (path for path in files if path.suffix not in (".html", ".pdf") and path.name != "provenance.json")
    return {str(path.relative_to(results)): path.read_bytes() for path in sorted(kept)}


def test_the_whole_workflow_killed_again_and_again(tmp_path):
    chance = random.Random(8)
    folders = {}
    for name in ("killed", "whole"):
        folders[name] = tmp_path / name
        folders[name].mkdir()
        (folders[name] / "study.yaml").write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    kills = 0
    for _ in range(4 * KILLS):
        running = start(folders["killed"])
        time.sleep(chance.uniform(*LIVES))
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            kills += 1
        else:  # it was faster: once more from the start
            shutil.rmtree(folders["killed"] / "results")
        running.wait()
        assert start(folders["killed"], "--unlock").wait() == 0
        if kills == KILLS:
            break
    assert kills == KILLS
    for folder in folders.values():
        assert start(folder).wait() == 0, (folder / "errors.txt").read_text()
    killed, whole = made(folders["killed"]), made(folders["whole"])
    assert killed.keys() == whole.keys()
    assert len(whole) > 20
    assert not [name for name in whole if killed[name] != whole[name]]
