"""What jobs ask a cluster for."""

import os
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from cinorms.core.errors import ConfigError, EngineError
from cinorms.inference.engines.vllm import offline
from cinorms.inference.engines.vllm.engine import (
    BASE_GB,
    BASE_MINUTES,
    ENGINE,
    VllmSettings,
    memory_mb,
    minutes,
)
from cinorms.inference.engines.vllm.explain import check_quantisation, explain
from cinorms.inference.model_entry import load_registry
from cinorms.inference.store import sample_settings

from .....asking import make_model, make_request


def entry(**changes: Any) -> VllmSettings:
    stated = {"engine": "vllm", "family": "f", "source": "s", "capacity": 8, **changes}
    return VllmSettings.model_validate(stated)


def test_a_larger_model_asks_for_more():
    assert memory_mb(entry(capacity=13), 1) > memory_mb(entry(), 1) > 16_000
    assert minutes(entry(capacity=13), 1) > minutes(entry(), 1)
    assert minutes(entry(capacity=70, gpus=4), 1) < minutes(entry(capacity=70), 1)


def test_an_adapter_is_another_respondent_of_the_same_start():
    base, adapted, alone = (
        make_model("m", engine="vllm", source="org/m", **stated)
        for stated in ({"lora_rank": 8}, {"lora_rank": 8, "lora": "adapters/a"}, {})
    )
    assert adapted.request == base.request | {"lora": "adapters/a"}
    assert alone.request == {name: v for name, v in base.request.items() if name != "lora_rank"}
    requests = [make_request("vllm", **entry.request) for entry in (base, adapted, alone)]
    assert len({str(sample_settings(request)) for request in requests}) == 3
    loads = [ENGINE.loads(entry.settings) for entry in (base, adapted, alone)]
    assert loads[0] == loads[1] != loads[2]
    with pytest.raises(ConfigError, match=r"m\.lora: an adapter needs `lora_rank`"):
        make_model("m", engine="vllm", source="org/m", lora="adapters/a")


@pytest.mark.parametrize(("stated", "sampler"), [({"batch_invariant": True}, "0"), ({}, "outside")])
def test_batch_invariant_mode_goes_without_flashinfers_sampler(monkeypatch, tmp_path, stated, sampler):
    monkeypatch.setenv(offline.BATCH_INVARIANT, "outside")
    monkeypatch.setenv(offline.FLASHINFER_SAMPLER, "outside")
    for name in ("VLLM_NO_USAGE_STATS", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("VLLM_WORKER_MULTIPROC_METHOD", "spawn")

    def no_vllm(model: str) -> None:
        raise ConfigError(f"{model}: stop before vLLM is imported")

    monkeypatch.setattr(offline, "import_vllm", no_vllm)
    request = make_request("vllm", **make_model("m", engine="vllm", source="org/m", **stated).request)
    with pytest.raises(ConfigError, match="stop before vLLM"):
        offline.VllmEngine({"gpus": 1, "max_model_len": 512})._load(request, tmp_path)
    assert os.environ[offline.BATCH_INVARIANT] == str(int(bool(stated)))
    assert os.environ[offline.FLASHINFER_SAMPLER] == sampler


@pytest.fixture
def vllm_that_loads_nothing(monkeypatch):
    """Stand in for vLLM: what it finds on this machine is set on the returned platform."""
    platform = SimpleNamespace(is_cpu=lambda: True, is_unspecified=lambda: False, device_count=lambda: 1)
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=None, __version__="0"))
    monkeypatch.setitem(sys.modules, "vllm.platforms", SimpleNamespace(current_platform=platform))
    for name in ("VLLM_NO_USAGE_STATS", "TOKENIZERS_PARALLELISM", offline.BATCH_INVARIANT):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    return platform


@pytest.mark.usefixtures("vllm_that_loads_nothing")
def test_a_job_with_a_gpu_does_not_compute_on_the_cpu(monkeypatch, tmp_path):
    monkeypatch.setenv("SLURM_JOB_GPUS", "3")
    request = make_request("vllm", **make_model("m", engine="vllm", source="org/m").request)
    with pytest.raises(ConfigError, match="hold its GPU and compute on the CPU"):
        offline.VllmEngine({"gpus": 1, "max_model_len": 512})._load(request, tmp_path)


def test_a_machine_on_which_vllm_finds_no_device_is_told_so(vllm_that_loads_nothing):
    def unknown() -> int:
        raise TypeError("'NoneType' object is not callable")  # as vLLM 0.32 does

    vllm_that_loads_nothing.is_cpu = lambda: False
    vllm_that_loads_nothing.is_unspecified = lambda: True
    vllm_that_loads_nothing.device_count = unknown
    with pytest.raises(EngineError, match="no GPU is visible"):
        offline.import_vllm("m")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("VLLM batch_invariant mode requires 8.0"), "set `batch_invariant: false` in its entry"),
        (OSError(30, "Read-only file system"), "it needs a writable folder /dev/shm"),
        (
            RuntimeError("something new\nwith lines"),
            "(RuntimeError: something new); the log has the rest. Every",
        ),
    ],
)
def test_a_failure_of_vllm_is_one_message(error, words):
    message = str(explain(error, "m", "of another process: CUDA out of memory"))
    assert message.startswith("model 'm': vLLM stopped (")
    assert words in message


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "raise `gpus`"),
        ("ValueError: No available memory for the cache blocks.", "lower its `max_model_len`"),
        ("ValueError: Free memory on device cuda:0 (3.1/79.2 GiB) is less than desired", "nvidia-smi"),
        ("ValueError: attention heads (32) must be divisible by tensor parallel size (3).", "`gpus`"),
        ("RuntimeError: No CUDA GPUs are available", "request one from the cluster"),
    ],
)
def test_a_cause_in_another_process_is_found(said, advice):
    lines = (
        "(EngineCore pid=7) INFO 11-21 06:12:41 [core.py:1] trust_remote_code=False\n"
        f"(EngineCore pid=7) ERROR 11-21 06:12:42 [core.py:2] {said}\n"
    )
    error = explain(RuntimeError("Engine core initialization failed. See root cause above."), "m", lines)
    assert advice in str(error)
    assert said.partition(":")[2].strip() in str(error)
    assert "pid=7" not in str(error)


@pytest.mark.parametrize(
    ("method", "stated", "asked_for"),
    [
        ("awq", "awq", None),
        ("compressed-tensors", "fp8", None),
        ("none", "fp8", "fp8"),
        ("none", "none", None),
    ],
)
def test_quantised_checkpoints_load_by_their_entry_alone(method, stated, asked_for):
    assert check_quantisation({"quantization_config": {"quant_method": method}}, stated, "m") == asked_for


@pytest.mark.parametrize("capacity", [None, 0.0005])
def test_a_model_of_unknown_or_no_size_gets_what_any_job_needs(capacity):
    assert memory_mb(entry(capacity=capacity), 1) >= 1000 * BASE_GB
    assert minutes(entry(capacity=capacity, gpus=0), 1) == BASE_MINUTES


def test_every_model_of_the_registry_is_done_in_the_time_it_asks_for(root):
    prompt_tokens = 228_096 * 91  # the longest prompts of the paper's study (docs/method/inference/asking.md)
    for name, model in load_registry(root).items():
        rate = model.settings.rates.tokens_per_second
        if isinstance(model.settings, VllmSettings) and rate:
            assert minutes(model.settings, 1) > 30 + prompt_tokens / rate / 60, name


def test_only_what_asks_or_trains_a_model_is_submitted_to_a_cluster(folder):
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((folder / "workflow").rglob("*.smk"))}
    bodies = {
        name: body
        for text in texts.values()
        for name, body in re.findall(r"^ *rule(?: (\w+))?:\n((?: +.*\n|\n(?= ))+)", text, re.MULTILINE)
        for name in [name or re.findall(r'f"(\w+)_\{', body)[0]]
    }
    assert len(bodies) > 20
    submitted = {name for name, body in bodies.items() if "localrule: True" not in body}
    assert submitted == {"generate_paraphrases", "ask", "ask_coder"}


def test_the_containers_have_the_vllm_that_conda_has(folder):
    pinned = re.findall(r"- (\S+==\S+)", (folder / "envs/vllm.yaml").read_text(encoding="utf-8"))
    assert pinned
    for recipe in ("Dockerfile", "cinorms.def"):
        text = (folder / "containers" / recipe).read_text(encoding="utf-8")
        assert [word for word in text.split() if "==" in word] == pinned
