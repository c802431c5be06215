"""What vLLM is told, what it is asked and what becomes a reply, with stand-ins for vLLM and its tokenizer."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cinorms.core.ending import OPENED
from cinorms.core.errors import ConfigError, DataError, EngineError, StoreError
from cinorms.inference.checkpoints import folder_digest
from cinorms.inference.engines.vllm import offline
from cinorms.inference.engines.vllm.engine import ENGINE
from cinorms.inference.engines.vllm.tokenise import Tokeniser
from cinorms.inference.questions import Questions

from .....asking import make_model, make_questions, make_request
from .conftest import REASONING, Engine, Letters

# --- Loading

LOADED = {
    "dtype": "auto",
    "quantization": None,
    "max_model_len": 512,
    "enable_prefix_caching": True,
    "scheduling_policy": "priority",
    "seed": 3,
    "trust_remote_code": False,
    "generation_config": "vllm",
    "disable_log_stats": True,
}
ON_GPUS = LOADED | {"tensor_parallel_size": 4}
ON_CPU = LOADED | {"enforce_eager": True, "enable_chunked_prefill": False, "block_size": 32}
ON_CPU |= {"kv_cache_memory_bytes": 2**30}


def load(folder, **stated: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what vLLM is told about a checkpoint in ``folder``, and the facts of the run."""
    (folder / "config.json").write_text("{}")
    model = make_model("m", **{"engine": "vllm", "source": "org/m", "gpus": 4, **stated})
    engine = offline.VllmEngine(ENGINE.runtime(model.settings))
    told = engine._load(make_request("vllm", **model.request), folder)
    assert told.pop("model") == str(folder)
    return told, engine.metadata()


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({"gpus": 1, "max_num_seqs": 9}, {"tensor_parallel_size": 1, "max_num_seqs": 9}),
        ({"dtype": "float16", "trust_remote_code": True}, {"dtype": "float16", "trust_remote_code": True}),
        ({"quantisation": "fp8", "max_model_len": 99}, {"quantization": "fp8", "max_model_len": 99}),
        ({"lora_rank": 8, "batch_invariant": True}, {"enable_lora": True, "max_lora_rank": 8}),
    ],
)
def test_on_gpus_a_checkpoint_is_loaded_as_its_entry_states(platform, tmp_path, stated, told):
    found, facts = load(tmp_path, **stated)
    assert found == ON_GPUS | told
    assert 0 <= facts.pop("load_seconds") < 60
    assert facts == {"vllm": "0", "device": "H200", "gpus": stated.get("gpus", 4)}
    invariant = "batch_invariant" in stated
    assert os.environ[offline.BATCH_INVARIANT] == str(int(invariant)), "the entry decides, not the shell"
    assert os.environ.get(offline.FLASHINFER_SAMPLER) == ("0" if invariant else None)
    assert "VLLM_ENABLE_V1_MULTIPROCESSING" not in os.environ


@pytest.mark.parametrize(
    ("stated", "has_bfloat16", "dtype"),
    [({}, True, "auto"), ({}, False, "float32"), ({"dtype": "bfloat16"}, False, "bfloat16")],
)
def test_the_build_for_cpus_loads_without_gpus(platform, tmp_path, stated, has_bfloat16, dtype):
    platform.is_cpu, platform.has_bfloat16 = lambda: True, has_bfloat16
    told, facts = load(tmp_path, **stated)
    assert told == ON_CPU | {"dtype": dtype}
    assert facts["gpus"] == 0
    assert facts["device"].startswith(f"CPU, {len(os.sched_getaffinity(0))} cores, ")
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"


def unknown() -> int:
    raise TypeError("'NoneType' object is not callable")  # as vLLM 0.32 does


@pytest.mark.parametrize(
    ("machine", "stated", "message"),
    [
        (
            {"is_unspecified": lambda: True, "device_count": unknown},
            {},
            "no GPU is visible: request one from",
        ),
        ({"device_count": lambda: 0}, {}, "no GPU is visible: request one from the cluster"),
        ({"is_cpu": lambda: True}, {"batch_invariant": True}, "'m': `batch_invariant: true` needs a GPU"),
        ({"is_cpu": lambda: True}, {}, "'m': .* hold its GPU and compute on the CPU"),
    ],
)
def test_a_machine_that_cannot_do_it_is_one_message(platform, tmp_path, machine, stated, message):
    vars(platform).update(machine)
    os.environ["SLURM_JOB_GPUS"] = "3"
    with pytest.raises((ConfigError, EngineError), match=message):
        load(tmp_path, **stated)


def test_without_vllm_it_says_how_to_get_it(platform, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ConfigError, match=r"'m': vLLM cannot be imported here .*--sdm conda \(envs/vllm"):
        offline.import_vllm("m")


def test_every_adapter_has_a_number_and_its_rank_must_fit(platform, tmp_path):
    engine = offline.VllmEngine({})

    def adapter(name: str, rank: object = 8, **stated: Any) -> Any:
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "adapter_config.json").write_text(json.dumps({"r": rank}))
        (tmp_path / name / "adapter_model.safetensors").write_text(name)
        return engine._adapter(make_request("vllm", lora=str(tmp_path / name), lora_rank=8, **stated))

    folders = [str(tmp_path / name) for name in ("first", "second")]
    assert adapter("first") == (folders[0], 1, folders[0])
    adapter("second")
    digest = folder_digest(tmp_path / "second")
    assert adapter("second", lora_revision=digest) == (digest, 3, folders[1])
    assert adapter("first", 1)[1] == 1
    assert engine._adapter(make_request("vllm", lora_rank=8)) is None
    for rank in (9, None):
        with pytest.raises(
            ConfigError, match=f"has rank {rank}, and `lora_rank` of its entry is 8: set it to"
        ):
            adapter("first", rank)
    with pytest.raises(DataError, match=r"the adapter in .* sha256:0 was fetched; its files have changed"):
        adapter("first", lora_revision="sha256:0")


# --- Asking


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: Any) -> Path:
    """Return a folder that passes for a checkpoint, whose tokens are letters."""
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").touch()

    def load(folder: Path, wrapper: str, model: str, trusted: bool, variables: Any) -> Tokeniser:
        return Tokeniser(Letters(), wrapper, model, variables)

    monkeypatch.setattr(offline.Tokeniser, "load", load)
    return tmp_path


def asked_of(checkpoint: Path, texts: int = 3, **changes: Any) -> Questions:
    return make_questions(texts, **{"engine": "vllm", "source": str(checkpoint), "wrap": "none", **changes})


def ask(
    questions: Questions, answer: Callable[[list[int], Any], Any], n: int | None = None, keep: Any = None
) -> tuple[dict[int, Any], Engine]:
    """Return the replies to the first ``n`` questions, and the engine that ``answer`` answers for."""
    engine, kept = offline.VllmEngine({"gpus": 1, "max_model_len": 256}), {}
    engine._llm = Engine(answer)
    engine.ask(questions, np.arange(n or len(questions.grid)), keep or kept.__setitem__)
    assert engine.metadata() == {"checkpoint": questions.request.settings["source"]}
    return kept, engine._llm


def echo(ids: list[int], sampling: Any) -> Any:
    return SimpleNamespace(token_ids=ids[1:], finish_reason="stop", stop_reason=None)


def test_every_prompt_gets_its_own_reply(checkpoint, monkeypatch):
    blocks, ids = [], Tokeniser.ids
    monkeypatch.setattr(offline, "SAMPLE", 4)
    monkeypatch.setattr(offline, "BLOCK", 5)
    monkeypatch.setattr(Tokeniser, "ids", lambda self, texts: blocks.append(len(texts)) or ids(self, texts))
    questions = asked_of(checkpoint)
    replies, llm = ask(questions, echo)
    for at in range(12):
        text = questions.chat(at)[0]["content"]
        about = {"text": text, "finish_reason": "stop", "trace": None}
        assert replies[at] == {**about, "n_prompt_tokens": len(text) + 1, "n_output_tokens": len(text)}
    assert blocks == [4, 5, 5, 2], "some before anything is loaded, then all"
    assert (len(replies), llm.resets) == (12, 0)
    assert {request.sampling.seed for request in llm.begun} == {None}


def test_a_seed_is_that_of_its_prompt_and_another_sample_computes_its_prompts_itself(checkpoint):
    def seeds(n: int, **changes: Any) -> list[int]:
        _, llm = ask(asked_of(checkpoint, temperature=0.7, **changes), echo, n)
        assert llm.resets == (changes.get("sample", 1) > 1)
        return [request.sampling.seed for request in llm.begun]

    all_seeds = seeds(12)
    assert seeds(7) == all_seeds[:7]
    assert len({*all_seeds, *seeds(12, seed=4), *seeds(12, sample=2)}) == 36
    assert 2**30 < max(all_seeds) < 2**31


def test_options_are_probabilities_and_no_text(checkpoint):
    def answer(ids: list[int], sampling: Any) -> Any:
        share = SimpleNamespace(logprob=-np.log(len(sampling.logprob_token_ids)))
        return SimpleNamespace(logprobs=[dict.fromkeys(sampling.logprob_token_ids, share)])

    replies, _ = ask(asked_of(checkpoint, readout="options"), answer, 5)
    for reply in replies.values():
        assert reply.pop("p_options").sum() == pytest.approx(1)
        reply.pop("n_prompt_tokens")
        assert reply == {"text": None, "finish_reason": "stop", "trace": None, "n_output_tokens": 0}


def test_a_trace_is_a_reply_of_its_own(checkpoint):
    def answer(ids: list[int], sampling: Any) -> Any:
        text, finish = ("why", "length") if sampling.max_tokens == 20 else ("neutral", "stop")
        return SimpleNamespace(token_ids=[ord(c) for c in text], finish_reason=finish, stop_reason=None)

    replies, _ = ask(asked_of(checkpoint, reasoning=REASONING), answer)
    for reply in replies.values():
        assert (reply["trace"], reply["n_trace_tokens"], reply["trace_status"]) == ("why", 3, "cut")
        assert (reply["text"], reply["n_output_tokens"]) == ("neutral", 10)


def test_a_failure_of_vllm_is_explained_and_closes_it_and_one_of_the_store_is_that(checkpoint):
    closed: list[int] = []

    def fail(*given: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    OPENED.callback(closed.append, 1)
    with pytest.raises(StoreError, match="the disk is full"):
        ask(
            asked_of(checkpoint),
            echo,
            keep=lambda at, reply: (_ for _ in ()).throw(StoreError("the disk is full")),
        )
    assert not closed
    with pytest.raises(
        EngineError, match=r"'m': vLLM stopped \(RuntimeError: CUDA out of memory\); the GPU's"
    ):
        ask(asked_of(checkpoint), fail)
    assert closed


@pytest.mark.parametrize(
    ("changes", "more", "written", "shorten"),
    [
        (
            {"reasoning": REASONING},
            8 + 20 + 10 + 9,
            "an answer with its trace may have 39",
            "max_tokens or the budget",
        ),
        ({"reasoning": {**REASONING, "effort": "none"}}, 9, "an answer may have 9", "max_tokens"),
        ({}, 9, "an answer may have 9", "max_tokens"),
        ({"readout": "options"}, 22, "an answer may have 22", "max_tokens"),
    ],
)
def test_a_prompt_and_its_answer_must_fit(checkpoint, changes, more, written, shorten):
    questions = asked_of(checkpoint, 1, max_tokens=9, **changes)
    rows = np.arange(4)
    enough = 1 + max(len(questions.chat(at)[0]["content"]) for at in rows) + more
    offline.Prompts(questions, rows, checkpoint, enough)
    with pytest.raises(ConfigError, match=f"{written}; `max_model_len` .* set it to {enough} or more"):
        offline.Prompts(questions, rows, checkpoint, enough - 1)
    (checkpoint / "config.json").write_text(f'{{"max_position_embeddings": {enough}}}')
    offline.Prompts(questions, rows, checkpoint, enough)
    (checkpoint / "config.json").write_text(f'{{"max_position_embeddings": {enough - 1}}}')
    with pytest.raises(
        ConfigError, match=f"the model takes {enough - 1} in all: lower {shorten}, or ask in sho"
    ):
        offline.Prompts(questions, rows, checkpoint, enough)
    engine = offline.VllmEngine({"gpus": 1, "max_model_len": enough})
    with pytest.raises(ConfigError, match="or ask in shorter wordings"):
        engine.ask(questions, rows, None)
    assert list(engine.metadata()) == ["checkpoint"], "before minutes of a GPU are spent on loading"
