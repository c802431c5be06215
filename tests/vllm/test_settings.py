"""What vLLM is told about a model follows from its registry entry."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cinorms.inference.engines.vllm.conversations import of_one_request
from cinorms.inference.engines.vllm.offline import llm_settings

from .conftest import request_of


def settings(folder: Path, on_cpu: bool = False, gpus: int = 1, **config: Any) -> dict[str, Any]:
    """Return what vLLM is told about a checkpoint with the configuration ``config``."""
    stated = config.pop("stated", {})
    (folder / "config.json").write_text(json.dumps(config))
    return llm_settings(request_of(folder, **stated), folder, max_model_len=512, gpus=gpus, on_cpu=on_cpu)


def test_on_gpus_prefixes_are_cached_and_graphs_are_on(tmp_path):
    told = settings(tmp_path, gpus=4, stated={"dtype": "bfloat16"})
    assert (told["tensor_parallel_size"], told["max_model_len"], told["dtype"]) == (4, 512, "bfloat16")
    assert told["enable_prefix_caching"] is True
    assert not {"enforce_eager", "block_size", "kv_cache_memory_bytes"} & set(told)
    assert told["generation_config"] == "vllm"
    assert told["trust_remote_code"] is False


@pytest.mark.parametrize("method", ["awq", "gptq"])
def test_a_quantised_checkpoint_is_loaded_as_it_says_itself(tmp_path, method):
    stated = {"quantisation": method, "dtype": "float16"}
    told = settings(tmp_path, quantization_config={"quant_method": method}, stated=stated)
    assert (told["quantization"], told["dtype"]) == (
        None,
        "float16",
    )  # vLLM sees it, and takes its fastest kernel


def test_the_build_for_cpus_uses_no_gpus(tmp_path):
    told = settings(tmp_path, on_cpu=True, gpus=4)
    assert "tensor_parallel_size" not in told
    assert told["enforce_eager"] is True


@pytest.mark.parametrize(
    ("stated", "on_cpu", "has_bfloat16", "taken"),
    [
        ("auto", True, True, "auto"),
        ("auto", True, False, "float32"),
        ("bfloat16", True, False, "bfloat16"),
        ("auto", False, False, "auto"),
    ],
)
def test_a_cpu_without_bfloat16_computes_in_float32(
    monkeypatch,
    tmp_path,
    stated,
    on_cpu,
    has_bfloat16,
    taken,
):
    import torch

    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has_bfloat16)
    assert settings(tmp_path, on_cpu=on_cpu, stated={"dtype": stated})["dtype"] == taken


def test_only_the_whole_answer_comes_and_its_parameters_are_not_copied(monkeypatch):
    from vllm.sampling_params import RequestOutputKind

    assert of_one_request() == {"output_kind": RequestOutputKind.FINAL_ONLY, "skip_clone": True}
    # vLLM 0.24, which fits torch 2.11, does not know skip_clone and would refuse it.
    monkeypatch.setattr(
        "vllm.SamplingParams", SimpleNamespace(__struct_fields__=("temperature", "max_tokens"))
    )
    assert of_one_request() == {"output_kind": RequestOutputKind.FINAL_ONLY}
