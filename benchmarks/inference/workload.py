"""What the benchmark asks, of which model, and the least it can cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from specs import make_spec

from cinorms.control.tokenizer import make_tokenizer
from cinorms.core.errors import ConfigError
from cinorms.inference import checkpoints
from cinorms.inference.engines.vllm.settings import VllmSettings
from cinorms.inference.engines.vllm.tokenise import Ids, Tokeniser
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.study.registry import load_registry
from cinorms.study.root import Root
from cinorms.vignettes.designs import expand, load_dataset

ROOT = Path(__file__).resolve().parents[2]

#: Shapes that random weights can have: hidden, intermediate, layers, heads, key-value heads, vocabulary.
SHAPES = {
    "llama-3.1-8b": (4096, 14336, 32, 32, 8, 128256),
    "tulu-2-7b": (4096, 11008, 32, 32, 32, 32000),
    "tulu-2-13b": (5120, 13824, 40, 40, 40, 32000),
    "tiny": (128, 336, 2, 4, 4, 800),
}


@dataclass(frozen=True)
class Model:
    """A checkpoint, or the shape of one."""

    folder: Path
    spec: Spec
    gpus: int
    max_model_len: int
    #: Whether its weights are random numbers: its answers then never end by themselves.
    random: bool


def registry_model(name: str) -> Model:
    """Return the model ``name`` of config/models.yaml; its checkpoint is downloaded where it is not here."""
    registry = load_registry(Root(ROOT))
    loaded = {model: of for model, of in registry.items() if isinstance(of.settings, VllmSettings)}
    if name not in loaded:
        raise ConfigError(f"--model {name!r} was given; allowed: {', '.join(loaded)}")
    entry, settings = loaded[name], loaded[name].settings
    assert isinstance(settings, VllmSettings)
    keys = ("dtype", "quantisation", "trust_remote_code", "wrap")
    stated = {key: entry.stated[key] for key in keys if key in entry.stated}
    spec = make_spec("vllm", **{**_SPEC, "model": name, **stated})
    folder = checkpoints.find(settings.source, settings.revision, name)
    return Model(folder, spec, settings.gpus, settings.max_model_len, random=False)


def random_model(shape: str, dtype: str, gpus: int, folder: Path) -> Model:
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
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    spec = make_spec("vllm", **{**_SPEC, "model": shape, "dtype": dtype})
    questions = _questions(spec)
    texts = [questions.chat(at)[0]["content"] for at in range(0, len(questions.grid), 97)]
    # Of about as many tokens a prompt as a large model's tokenizer makes: a prompt's words are few.
    make_tokenizer(texts, 800).save_pretrained(folder)
    return Model(folder, spec, gpus, 512, random=True)


def prompts_of(model: Model, n: int) -> list[Ids]:
    """Return the token ids of the first ``n`` prompts of iot in three answer orders, as the engine sorts them."""
    questions = _questions(model.spec)
    todo = questions.missing(np.zeros(len(questions.grid), dtype=bool))[:n]
    tokeniser = Tokeniser.load(model.folder, model.spec.identity["wrap"], model.spec.model)
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


#: What every spec of this benchmark holds.
_SPEC: dict[str, Any] = {"seed": 2026, "n_templates": 11, "wrap": "chat_template", "quantisation": "none"}


def _questions(spec: Spec) -> Questions:
    dataset = load_dataset(ROOT / "resources/vignettes/iot.yaml")
    assert dataset.design is not None
    templates = load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml").templates
    return Questions.of(spec, expand(dataset.design), list_variants("chatgpt", templates, 11, 3))
