"""The tools that are compared: how each is started on the same prompts, and where its answers are."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "inference"), str(ROOT / "tests"), str(ROOT / "workflow/lib")]

from specs import make_spec  # noqa: E402

from cinorms.core import tables  # noqa: E402
from cinorms.inference.engines.vllm.offline import CPU_CACHE  # noqa: E402
from cinorms.inference.questions import Questions  # noqa: E402
from cinorms.inference.spec import Spec  # noqa: E402
from cinorms.prompts.prompt_sets import load_prompt_set  # noqa: E402
from cinorms.prompts.variants import list_variants  # noqa: E402
from cinorms.vignettes.designs import expand, load_dataset  # noqa: E402

MAX_TOKENS, MAX_MODEL_LEN, N_TEMPLATES, SEED = 8, 256, 5, 2026
#: 864 flows of the dataset iot.
FLOWS = {"sender": ["a fitness tracker"]}
#: Prompts on their way at once, for the tool that has no better default.
CONNECTIONS = 256
#: What cinorms' engine sets on a machine without GPU, for every tool: they differ in how they feed vLLM.
ENGINE = {
    "dtype": "float32",
    "max_model_len": MAX_MODEL_LEN,
    "enforce_eager": True,
    "enable_prefix_caching": True,
    "enable_chunked_prefill": False,
    "block_size": 32,
    "kv_cache_memory_bytes": CPU_CACHE,
    "generation_config": "vllm",
    "seed": SEED,
    # The defaults of vLLM's class LLM, which cinorms and lm-evaluation-harness use; its server's are half of them.
    "max_num_seqs": 256,
    "max_num_batched_tokens": 4096,
}


@dataclass(frozen=True)
class Work:
    """The prompts of one run, in files that every tool reads."""

    checkpoint: Path
    folder: Path
    spec: Spec
    n: int

    @classmethod
    def write(cls, checkpoint: Path, folder: Path, select: Mapping[str, Any]) -> Work:
        """Write the prompts about the flows that ``select`` names to ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        spec = make_spec(
            "vllm",
            model="control",
            seed=SEED,
            source=str(checkpoint),
            wrap="chat_template",
            dtype="float32",
            max_tokens=MAX_TOKENS,
            n_templates=N_TEMPLATES,
            select=dict(select),
        )
        dataset = load_dataset(ROOT / "resources/vignettes/iot.yaml")
        assert dataset.design is not None
        flows = expand(dataset.design)
        templates = load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml").templates
        variants = list_variants("chatgpt", templates, N_TEMPLATES, 1)
        tables.write(flows, folder / "vignettes.parquet", tables.VIGNETTES)
        tables.write(variants, folder / "variants.parquet", tables.PROMPTS)
        questions = Questions.of(spec, flows, variants)
        # In the order in which cinorms asks: neighbours share the beginning of their prompts, for every tool.
        order = questions.missing(np.zeros(len(questions.grid), dtype=bool)).tolist()
        chats = {at: questions.chat(at) for at in order}
        with (folder / "prompts.jsonl").open("w") as file:
            file.writelines(json.dumps({"id": at, "prompt": chats[at][0]["content"]}) + "\n" for at in order)
        with (folder / "batch.jsonl").open("w") as file:
            for at in order:
                body = {"model": "control", "messages": chats[at], "temperature": 0, "max_tokens": MAX_TOKENS}
                line = {"custom_id": str(at), "method": "POST", "url": "/v1/chat/completions", "body": body}
                file.write(json.dumps(line) + "\n")
        return cls(checkpoint, folder, spec, len(order))


@dataclass(frozen=True)
class Contender:
    """A tool: its name, its command (a second one to go on after a kill, where it has one), and its answers."""

    name: str
    #: From the prompts, the folder for results, and whether the run may be killed: then with what saves answers.
    command: Callable[[Work, Path, bool], list[str]]
    #: The answers by number of the prompt.
    answers: Callable[[Path], dict[int, str]]
    variables: Mapping[str, str]


def contenders(environments: Path) -> dict[str, Contender]:
    """Return every tool; ``environments`` has the folders that environments.sh makes."""
    vllm = str(ROOT / ".venv-vllm/bin/python")
    lm_eval, inspect = (environments / f".venv-{name}/bin" for name in ("lm-eval", "inspect"))

    def ours(work: Work, out: Path, saving: bool) -> list[str]:
        tuning = {"gpus": 1, "max_model_len": MAX_MODEL_LEN, "journal": str(out / "journal")}
        files = {
            "spec": json.dumps(work.spec.as_plain()),
            "tuning": json.dumps(tuning),
            "vignettes": str(work.folder / "vignettes.parquet"),
            "variants": str(work.folder / "variants.parquet"),
            "out": str(out / "responses.parquet"),
            "log": str(out / "log.txt"),
        }
        return [vllm, "-m", "cinorms.ask", *(text for key in files for text in (f"--{key}", files[key]))]

    def run_batch(work: Work, out: Path, saving: bool) -> list[str]:
        files = ["-i", str(work.folder / "batch.jsonl"), "-o", str(out / "out.jsonl")]
        served = ["--model", str(work.checkpoint), "--served-model-name", "control"]
        return [vllm, "-m", "vllm.entrypoints.openai.run_batch", *files, *served, *_options(ENGINE)]

    def harness(work: Work, out: Path, saving: bool) -> list[str]:
        tasks = out / "tasks"
        tasks.mkdir(exist_ok=True)
        (tasks / "norms.yaml").write_text(_HARNESS_TASK.format(file=work.folder / "prompts.jsonl"))
        given = {"pretrained": work.checkpoint, **ENGINE, "max_gen_toks": MAX_TOKENS}
        command = [str(lm_eval / "python"), "-m", "lm_eval", "--model", "vllm"]
        command += ["--model_args", ",".join(f"{key}={value}" for key, value in given.items())]
        command += ["--tasks", "norms", "--include_path", str(tasks), "--apply_chat_template"]
        command += ["--log_samples", "--output_path", str(out / "results")]
        # In one batch it is fastest and saves nothing before the end.
        saved = ["--batch_size", "256", "--use_cache", str(out / "cache")]
        return [*command, *(saved if saving else ["--batch_size", "auto"])]

    def inspect_ai(work: Work, out: Path, saving: bool) -> list[str]:
        logs = sorted((out / "logs").glob("*.eval"))
        if logs:  # killed before
            return [
                str(inspect / "inspect"),
                "eval-retry",
                *_QUIET,
                "--log-dir",
                str(out / "logs"),
                str(logs[-1]),
            ]
        shutil.copy(HERE / "inspect_task.py", out)  # it takes no absolute path
        command = [str(inspect / "inspect"), "eval", "inspect_task.py", *_QUIET]
        command += ["-T", f"file={work.folder / 'prompts.jsonl'}", "--model", f"vllm/{work.checkpoint}"]
        command += ["--log-dir", str(out / "logs"), "--temperature", "0", "--max-tokens", str(MAX_TOKENS)]
        command += ["--max-connections", str(CONNECTIONS), "--max-samples", str(CONNECTIONS)]
        # It leaves out what is false.
        settings = {
            (key if value is not False else f"no_{key}"): value or True for key, value in ENGINE.items()
        }
        return command + [
            part for key, value in settings.items() for part in ("-M", f"{key}={str(value).lower()}")
        ]

    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    quiet = {"VLLM_NO_USAGE_STATS": "1", "VLLM_DO_NOT_TRACK": "1", **offline}
    path = f"{lm_eval}:{os.environ['PATH']}"
    found = [
        Contender("cinorms", ours, _our_answers, quiet | {"PYTHONPATH": str(ROOT / "workflow/lib")}),
        Contender("vllm run-batch", run_batch, _batch_answers, quiet),
        Contender("lm-evaluation-harness", harness, _harness_answers, quiet),
        Contender("Inspect", inspect_ai, lambda out: _inspect_answers(out, inspect), quiet | {"PATH": path}),
    ]
    return {each.name: each for each in found}


_QUIET = ["--display", "none", "--no-score"]
_HARNESS_TASK = """task: norms
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: ""
generation_kwargs: {{until: [], max_gen_toks: 8, do_sample: false, temperature: 0}}
metric_list: [{{metric: bypass}}]
"""


def _options(settings: Mapping[str, Any]) -> list[str]:
    """Return the options of vLLM's commands."""
    options = []
    for key, value in settings.items():
        name = key.replace("_", "-")
        options += (
            [f"--{name}" if value else f"--no-{name}"]
            if isinstance(value, bool)
            else [f"--{name}", str(value)]
        )
    return options


def _our_answers(out: Path) -> dict[int, str]:
    table = pd.read_parquet(out / "responses.parquet")
    return dict(enumerate(table["text"].astype(str)))


def _batch_answers(out: Path) -> dict[int, str]:
    lines = [json.loads(line) for line in (out / "out.jsonl").read_text().splitlines()]
    return {
        int(line["custom_id"]): line["response"]["body"]["choices"][0]["message"]["content"] for line in lines
    }


def _harness_answers(out: Path) -> dict[int, str]:
    (path,) = (out / "results").rglob("samples_*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["doc"]["id"]: line["resps"][0][0] for line in lines}


def _inspect_answers(out: Path, inspect: Path) -> dict[int, str]:
    import subprocess

    last = sorted((out / "logs").glob("*.eval"))[-1]
    done = subprocess.run(
        [inspect / "inspect", "log", "dump", last], capture_output=True, text=True, check=True
    )
    samples = json.loads(done.stdout)["samples"]
    return {int(each["id"]): each["output"]["choices"][0]["message"]["content"] for each in samples}


def fresh(folder: Path) -> Path:
    """Return ``folder``, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
