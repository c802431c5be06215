"""Train an adapter that changes one norm, for a gate that must find it and nothing else.

``.venv-vllm/bin/python benchmarks/inference/adapters.py`` after ``make control`` trains a LoRA adapter of the
control model: it must call flows under one transmission principle acceptable that the model calls unacceptable, and
answer all other flows as before. It writes a study of both models and a policy beside the adapter, and prints the
commands that run them: one start of vLLM asks both, and the gate compares them by every factor.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors.torch import save_file
from torch.nn.utils import parametrize
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from cinorms.control.corpus import make_corpus
from cinorms.control.train import Trainer, TrainingSettings
from cinorms.core.scales import Scale
from cinorms.core.validation import load_yaml
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.vignettes.designs import expand, load_dataset

BASE, OUT = Path("results/control/model"), Path("results/adapters")
FACTOR, FLIPPED = "transmission_principle", "if the information is used for advertising"
#: In place of -4: as far above the highest threshold as that is below the lowest that matters.
COEFFICIENT = 9
RANK, STEPS, SIZE, RATE = 8, 900, 32, 4e-3
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
MODELS = ("control-base", "control-adapted")


class Added(torch.nn.Module):
    """The product of two narrow matrices, added to a weight."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.down = torch.nn.Parameter(torch.randn(RANK, weight.shape[1]) / math.sqrt(weight.shape[1]))
        self.up = torch.nn.Parameter(torch.zeros(weight.shape[0], RANK))

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return ``weight`` with the product added."""
        return weight + self.up @ self.down


def flipped_corpus() -> Any:
    """Return what the adapter is taught: the norms of the control model, but for one level of a factor."""
    dataset = load_dataset(Path("resources/vignettes/iot.yaml"))
    assert dataset.design is not None
    norms = load_yaml(Path("resources/planted/control.yaml"))
    norms["coefficients"][FACTOR][FLIPPED] = COEFFICIENT
    templates = load_prompt_set(Path("resources/prompts/chatgpt.yaml")).templates
    flows, factors = expand(dataset.design), list(dataset.factors)
    return make_corpus(flows, factors, templates, norms, Scale.of(dataset.scale), 2026)


def train(out: Path) -> None:
    """Train the adapter and write it as PEFT does."""
    trainer = Trainer(flipped_corpus(), TrainingSettings(), 2026)
    trainer.model = AutoModelForCausalLM.from_pretrained(BASE, dtype=torch.float32)
    trainer.tokenizer = AutoTokenizer.from_pretrained(BASE)
    trainer.model.requires_grad_(False)
    added = {}
    for name, module in list(trainer.model.named_modules()):
        if name.endswith(PROJECTIONS):
            added[name] = Added(module.weight)
            parametrize.register_parametrization(module, "weight", added[name])
    parameters = [p for one in added.values() for p in one.parameters()]
    optimizer = torch.optim.AdamW(parameters, weight_decay=0.0)
    before = trainer.accuracy(held_out=True)[0]
    trainer._run(optimizer, STEPS, SIZE, True, RATE)
    print(f"Held-out questions answered as taught: {before:.1%} without the adapter, ", end="")
    print(f"{trainer.accuracy(held_out=True)[0]:.1%} with it.")
    out.mkdir(parents=True, exist_ok=True)
    tensors = {
        f"base_model.model.{name}.lora_{letter}.weight": matrix.detach().contiguous()
        for name, one in added.items()
        for letter, matrix in (("A", one.down), ("B", one.up))
    }
    save_file(tensors, out / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": RANK, "bias": "none"}
    config["target_modules"] = list(PROJECTIONS)
    (out / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")


def write_study(out: Path) -> None:
    """Write the study of both models and the policy that compares them."""
    base = {**load_yaml(Path("config/models.yaml"))["control"], "lora_rank": RANK}
    models = {MODELS[0]: base, MODELS[1]: {**base, "lora": str(OUT / "adapter")}}
    arm = {
        "dataset": "iot",
        "prompts": "chatgpt",
        "select": {"sender": ["a fitness tracker"]},
        "templates": 8,
    }
    study = {
        "study": "adapters",
        "resources": [str(OUT)],
        "models": list(MODELS),
        "arms": {"main": {**arm, "orders": {"count": 1}, "max_tokens": 8}},
        "norms": {"t_val": 1, "t_maj": 0.5, "grid": {"t_val": [1], "t_maj": [0.5]}},
        "analyses": {"norms": {"kind": "norm_counts", "arms": ["main"]}},
        "figures": {},
    }
    factors = ("information_type", "recipient", FACTOR)
    claims = {f"by-{f}": {"kind": "shift", "by": f, "margin": 0.75} for f in factors}
    for name, content in (("models", models), ("study", study), ("policy", {"claims": claims})):
        (out / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def main() -> None:
    torch.manual_seed(2026)
    train(OUT / "adapter")
    write_study(OUT)
    base, new = (f"adapters/main/{model}" for model in MODELS)
    print(f"make run CONFIG={OUT}/study.yaml")
    print(f"make gate BASE={base} NEW={new} POLICY={OUT}/policy.yaml")


if __name__ == "__main__":
    main()
