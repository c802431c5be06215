"""Convert a GGUF file, whose weights are in few bits, into a checkpoint in safetensors that vLLM loads."""

from __future__ import annotations

import time
from pathlib import Path


def convert(weights: Path, out: Path) -> None:
    """Write the model, tokenizer and chat template of the GGUF file ``weights`` into the folder ``out``."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    started = time.monotonic()
    file = {"gguf_file": weights.name}
    model = AutoModelForCausalLM.from_pretrained(weights.parent, dtype=torch.float32, **file)
    del model.config.quantization_config
    # transformers refuses to save what it read from GGUF, so a plain model takes the weights. Rounding to 16 bits
    # changes them by 1/2048 at most, far less than the few bits of the file already have.
    plain = type(model)(model.config).to(torch.float16)
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(out)
    AutoTokenizer.from_pretrained(weights.parent, **file).save_pretrained(out)
    print(f"Converted {weights.name} in {time.monotonic() - started:.0f} s.")
