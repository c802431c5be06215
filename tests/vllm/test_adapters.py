"""Several arms of a model and its adapter share one start of vLLM, and each gets the replies that it gets alone."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from cinorms.core.ending import OPENED
from cinorms.inference import checkpoints
from cinorms.inference.engines.vllm.offline import VllmEngine

from ..asking import ask, responses_in
from .conftest import RUNTIME, generate, request_of
from .test_answers import prompts_of

#: Arms that differ in everything that needs no other engine, and the column of those that give no text.
ARMS: dict[str, dict[str, Any]] = {
    "main": {},
    "drawn": {"temperature": 0.8},
    "options": {"readout": "options", "n_templates": 1},
    "wrapped": {"wrap": "llama2"},
}
COLUMN = {"options": "p_options"}
RANK = 4


@pytest.fixture(scope="module")
def merged(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return the folder of a random adapter, and the checkpoint with it added to its weights."""
    folder = tmp_path_factory.mktemp("adapter")
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    chance, tensors = torch.Generator().manual_seed(4), {}
    for name, module in model.named_modules():
        if name.endswith(("q_proj", "v_proj", "down_proj")):
            down = torch.randn(RANK, module.in_features, generator=chance) * 0.2
            up = torch.randn(module.out_features, RANK, generator=chance) * 0.2
            tensors |= {f"base_model.model.{name}.lora_{k}.weight": t for k, t in (("A", down), ("B", up))}
            module.weight.data += 2 * up @ down
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": 2 * RANK, "bias": "none"}
    config |= {"target_modules": ["q_proj", "v_proj", "down_proj"], "task_type": "CAUSAL_LM"}
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder, model


def test_arms_and_an_adapter_share_a_start(tmp_path, checkpoint, merged, session, questions_of, monkeypatch):
    folder, reference = merged
    runtime, loads = {**RUNTIME, "store": str(tmp_path / "replies")}, []
    load = VllmEngine._load
    monkeypatch.setattr(VllmEngine, "_load", lambda *given: loads.append(given) or load(*given))
    arms = {name: questions_of(request_of(checkpoint, lora_rank=8, **more)) for name, more in ARMS.items()}
    revision = checkpoints.folder_digest(folder)
    adapted = request_of(checkpoint, lora_rank=8, model="adapted", lora=str(folder), lora_revision=revision)
    arms["adapted"] = questions_of(replace(adapted, n_templates=1))
    try:
        ask(tmp_path, *arms.values(), **runtime)
        assert len(loads) == 1
    finally:
        OPENED.close()
    ask(tmp_path, *arms.values(), **runtime)
    assert len(loads) == 1, "nothing is left to ask"
    found = {name: responses_in(tmp_path, questions) for name, questions in arms.items()}
    for name, more in ARMS.items():
        own, column = session.ask(request_of(checkpoint, **more)), COLUMN.get(name, "text")
        pairs = zip(own[column], found[name][column], strict=True)
        assert all(np.allclose(*pair) if name in COLUMN else pair[0] == pair[1] for pair in pairs)
    tokeniser, texts = prompts_of(adapted, arms["adapted"])
    for at in range(0, len(texts), 7):
        written = generate(reference, tokeniser.ids([texts[at]])[0].tolist(), 8)
        assert found["adapted"]["text"][at] == tokeniser.tokenizer.decode(written, skip_special_tokens=True)
    base = found["main"].merge(found["adapted"], on=["flow", "variant", "order"])
    assert (base["text_x"].astype(str) != base["text_y"].astype(str)).mean() > 0.2
