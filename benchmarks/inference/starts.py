"""How long six arms of one model take with one start of vLLM, compared with a start for each.

    .venv-vllm/bin/python benchmarks/inference/starts.py [--recipients N]

Trains a control model for a few seconds, then runs the same study of six arms twice through Snakemake, in turn: with
``--no-hooks``, where every job loads for itself as it did before crews, and as it is. Prints the seconds of both, the
seconds spent loading (from the journals' records), and whether all responses have the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from cinorms.control.corpus import make_corpus
from cinorms.control.train import TrainingSettings, train_control
from cinorms.core.scales import papers_scale
from cinorms.core.validation import load_yaml
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.vignettes.designs import expand, load_dataset

ROOT = Path(__file__).resolve().parents[2]
SENDERS = (
    "a sleep monitor",
    "a security camera",
    "a door lock",
    "a thermostat",
    "a fitness tracker",
    "a refrigerator",
)
#: Enough to answer in options, not to be right.
QUICK = TrainingSettings(
    phases=((60, 64, False, 3e-3), (40, 16, True, 3e-3)), at_most=0, n_checked=100, least_accuracy=0.0
)
SEED = 2026


def train(folder: Path) -> None:
    """Train a control model into ``folder``."""
    dataset = load_dataset(ROOT / "resources/vignettes/iot.yaml")
    assert dataset.design is not None
    templates = load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml").templates
    norms = load_yaml(ROOT / "resources/planted/control.yaml")
    corpus = make_corpus(
        expand(dataset.design), list(dataset.factors), templates, norms, papers_scale("acceptability"), SEED
    )
    train_control(corpus, folder, SEED, QUICK)


def write_study(folder: Path, model: Path, recipients: list[str]) -> None:
    """Write the study of six arms, and the registry entry of its model."""
    entry = {"engine": "vllm", "family": "control", "source": str(model), "dtype": "float32", "gpus": 0}
    (folder / "mine").mkdir()
    (folder / "mine/models.yaml").write_text(json.dumps({"quick": {**entry, "max_model_len": 256}}))
    arm = {"dataset": "iot", "prompts": "chatgpt", "templates": 2, "orders": {"count": 1}, "max_tokens": 8}
    arms = {
        f"arm{i}": {**arm, "select": {"sender": [sender], "recipient": recipients}}
        for i, sender in enumerate(SENDERS)
    }
    study = {"study": "starts", "resources": ["mine"], "models": ["quick"], "arms": arms}
    (folder / "starts.yaml").write_text(json.dumps({**study, "analyses": {}, "figures": {}}))


def run(folder: Path, *more: str) -> tuple[float, list[float], dict[str, bytes]]:
    """Ask the study in ``folder``; return the seconds, those of each load, and the files of responses."""
    targets = [f"results/starts/responses/arm{i}/quick/1-of-1.parquet" for i in range(len(SENDERS))]
    command = [str(ROOT / ".venv/bin/python"), "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    command += [
        "--cores",
        "2",
        "--resources",
        "gpu=1",
        "--quiet",
        "all",
        "--configfile",
        "starts.yaml",
        *more,
    ]
    # What does not start the engine is made before: the same for both.
    made = [f"results/starts/prompts/arm{i}.parquet" for i in range(len(SENDERS))]
    made += ["results/starts/vignettes/iot.parquet", "results/starts/checkpoints/quick.json"]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"}
    subprocess.run([*command, "--", *made], cwd=folder, env=environment, check=True)
    started = time.perf_counter()
    subprocess.run([*command, "--", *targets], cwd=folder, env=environment, check=True)
    seconds = time.perf_counter() - started
    records: list[dict[str, Any]] = [
        json.loads(path.read_bytes()) for path in folder.glob("results/.journal/*/runs/*.json")
    ]
    loads = [float(record["load_seconds"]) for record in records if "load_seconds" in record]
    return seconds, loads, {name: (folder / name).read_bytes() for name in targets}


def main() -> None:
    """Run both and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--recipients", type=int, default=3, help="recipients per arm; 12 flows x 9 subjects each"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        train(top / "model")
        dataset = load_dataset(ROOT / "resources/vignettes/iot.yaml")
        assert dataset.design is not None
        recipients = list(dict.fromkeys(expand(dataset.design)["recipient"]))[: given.recipients]
        found = {}
        for mode, more in (("each its own start", ("--no-hooks",)), ("one start", ())):
            folder = top / mode.replace(" ", "-")
            folder.mkdir()
            write_study(folder, top / "model", recipients)
            found[mode] = run(folder, *more)
            seconds, loads, _ = found[mode]
            print(f"{mode:20} {seconds:7.1f} s, {len(loads)} loads in {sum(loads):6.1f} s", flush=True)
        (before, loads_before, files_before), (after, loads_after, files_after) = found.values()
        print(
            f"loading: {sum(loads_after) / sum(loads_before):.2f} of the time; in all: {after / before:.2f}"
        )
        print("same bytes" if files_before == files_after else "DIFFERENT BYTES")


if __name__ == "__main__":
    main()
