"""What the benchmark asks, of which model, and the least it can cost."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from asking import make_request
from tiny_model import make_tokenizer

from cinorms.inference.engines.vllm.tokenise import Ids, Tokeniser
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.designs import expand, load_dataset

ROOT = Path(__file__).resolve().parents[2]

#: Shapes that random weights can have: hidden, intermediate, layers, heads, key-value heads, vocabulary.
SHAPES = {
    "llama-3.1-8b": (4096, 14336, 32, 32, 8, 128256),
    "tulu-2-7b": (4096, 11008, 32, 32, 32, 32000),
    "tulu-2-13b": (5120, 13824, 40, 40, 40, 32000),
    "tiny": (128, 384, 2, 4, 4, 800),
}


@dataclass(frozen=True)
class Model:
    """A checkpoint, or the shape of one."""

    folder: Path
    request: Request
    gpus: int
    max_model_len: int
    #: Whether its weights are random numbers: its answers then never end by themselves.
    random: bool


#: 4-bit weights as AWQ stores them, in groups of 128.
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}


def random_model(shape: str, dtype: str, gpus: int, folder: Path, awq: bool = False) -> Model:
    """Write the configuration of a Llama of a given shape, and a tokenizer, to ``folder``: nothing is downloaded."""
    hidden, intermediate, layers, heads, kv_heads, vocabulary = SHAPES[shape]
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocabulary,
        "max_position_embeddings": 4096,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "torch_dtype": dtype,
    }
    if awq:
        config["quantization_config"] = AWQ
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    # A file of no weights: vLLM draws them (load_format dummy), but a checkpoint without a file counts as incomplete.
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    request = make_request(
        "vllm",
        **{**_REQUEST, "model": shape, "dtype": dtype, "source": str(folder), "max_tokens": MAX_TOKENS}
        | {"quantisation": "awq" if awq else "none"},
    )
    questions = questions_of(request)
    texts = [questions.chat(at)[0]["content"] for at in range(0, len(questions.grid), 97)]
    # Of about as many tokens a prompt as a large model's tokenizer makes: a prompt's words are few.
    make_tokenizer(texts, 800).save_pretrained(folder)
    return Model(folder, request, gpus, 512, random=True)


def sample_of(model: Model, n: int) -> list[Ids]:
    """Return about ``n`` of all prompts: of each template the first, as neighbours share their beginnings."""
    questions = questions_of(model.request)
    todo = questions.in_asking_order(np.arange(len(questions.grid)))
    by_template = np.array_split(todo, N_TEMPLATES)
    return _ids(model, questions, np.concatenate([part[: -(-n // N_TEMPLATES)] for part in by_template]))


def _ids(model: Model, questions: Questions, todo: npt.NDArray[np.int64]) -> list[Ids]:
    tokeniser = Tokeniser.load(model.folder, model.request.settings["wrap"], model.request.model)
    return tokeniser.ids(tokeniser.texts(questions.chat(int(at)) for at in todo))


def flop_per_token(config: Mapping[str, Any]) -> tuple[float, float]:
    """Return the operations for one token, and those on top for one that is sampled.

    Two for each weight of the layers, attention itself left out (0.2% at these lengths), and of the output layer.
    """
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    kv_share = (
        config.get("num_key_value_heads", config["num_attention_heads"]) / config["num_attention_heads"]
    )
    weights = 2 * hidden**2 * (1 + kv_share) + 3 * hidden * config["intermediate_size"]
    return 2.0 * layers * weights, 2.0 * hidden * config["vocab_size"]


#: What is planned for a model of the default study: 6,912 flows in 11 templates and 3 answer orders.
N_TEMPLATES, N_ORDERS = 11, 3
PLANNED = 6_912 * N_TEMPLATES * N_ORDERS
#: The longest answer, for a model of random weights.
MAX_TOKENS = 8
#: What every request of this benchmark holds.
_REQUEST: dict[str, Any] = {
    "seed": 2026,
    "n_templates": N_TEMPLATES,
    "wrap": "chat_template",
    "quantisation": "none",
}


def flows_and_variants() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the flows of iot, and every variant of them."""
    dataset = load_dataset(ROOT / "resources/vignettes/iot.yaml")
    templates = load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml").templates
    return expand(dataset), list_variants("chatgpt", templates, N_TEMPLATES, N_ORDERS)


def questions_of(request: Request) -> Questions:
    """Return the questions of ``request`` about iot."""
    return Questions.of(request, *flows_and_variants())
