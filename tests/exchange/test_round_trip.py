"""Both directions, with the tools themselves: prompts exported, answered in the tool, imported.

``make test-exchange`` makes the environments of the tools. ``CINORMS_RECORD=1 make test-exchange`` also keeps what the
tools wrote in tests/data/exchange, for the tests that run without them.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ..exchange_runs import RECORDED, ROOT, answers_bytes, arm, export, planted_responses, take

HERE = Path(__file__).parent
INSPECT = ROOT / ".venv-inspect/bin/python"
LM_EVAL = ROOT / ".venv-lm-eval/bin/python"
EVERY_EVAL_EVER = ROOT / ".venv-every-eval-ever/bin/every_eval_ever"
LAYOUTS = ("single", "instruction_in_system")


def run(python: Path, folder: Path, *arguments: str) -> None:
    """Run a tool offline, in ``folder``, which is also its home: it reads no settings of this machine's user."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT / "workflow/lib"),
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "hf"),
    }
    done = subprocess.run(
        [str(python), *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def keep(found: Path, name: str) -> None:
    if os.environ.get("CINORMS_RECORD"):
        RECORDED.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, RECORDED / name)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_inspect(tmp_path, layout):
    folder = export("inspect", tmp_path, layout=layout)
    run(INSPECT, folder, str(HERE / "answer_with_inspect.py"), "answers.json", "cinorms_main.py", "logs")
    (log,) = (folder / "logs").glob("*.eval")
    run(INSPECT, folder, "-m", "cinorms.exchange.inspect_log", "--out", "received.jsonl", str(log))
    imported = take("inspect", log, converted=folder / "received.jsonl", layout=layout)
    assert imported.reasons == {}
    expected = answers_bytes(planted_responses(layout=layout)[1], tmp_path)
    assert answers_bytes(imported.responses, tmp_path) == expected
    if layout == arm()[0].layout:
        keep(log, "inspect.eval")
        keep(folder / "received.jsonl", "inspect_converted.jsonl")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lm_eval(tmp_path, layout):
    folder = export("lm_eval", tmp_path, layout=layout)
    stated = [
        "--model",
        "recorded",
        "--model_args",
        "pretrained=planted/m,answers=answers.json",
        "--tasks",
        "cinorms_main",
    ]
    options = ["--include_path", ".", "--log_samples", "--output_path", "out", "--apply_chat_template"]
    run(LM_EVAL, folder, str(HERE / "answer_with_lm_eval.py"), "run", *stated, *options)
    (samples,) = (folder / "out").glob("*/samples_cinorms_main_*.jsonl")
    imported = take("lm_eval", samples, layout=layout)
    assert imported.reasons == {}
    expected = answers_bytes(planted_responses(layout=layout)[1], tmp_path)
    assert answers_bytes(imported.responses, tmp_path) == expected
    if layout == arm()[0].layout:
        keep(samples, "lm_eval.jsonl")


def test_every_eval_ever(tmp_path):
    """Its own converter makes instance-level records of what lm-evaluation-harness logged."""
    folder = export("lm_eval", tmp_path)
    stated = ["--model", "recorded", "--model_args", "pretrained=planted/m,answers=answers.json"]
    options = ["--tasks", "cinorms_main", "--include_path", ".", "--log_samples", "--output_path", "out"]
    options.append("--apply_chat_template")
    run(LM_EVAL, folder, str(HERE / "answer_with_lm_eval.py"), "run", *stated, *options)
    about = ["--source_organization_name", "cinorms", "--evaluator_relationship", "third_party"]
    where = ["--log_path", "out", "--output_dir", "eee", "--include_samples"]
    run(EVERY_EVAL_EVER, folder, "convert", "lm_eval", *where, *about)
    (records,) = (folder / "eee").rglob("*_samples.jsonl")
    imported = take("every_eval_ever", records)
    assert imported.reasons == {}
    expected = answers_bytes(planted_responses()[1], tmp_path)
    assert answers_bytes(imported.responses, tmp_path) == expected
    keep(records, "every_eval_ever.jsonl")
