"""A model and its adapter share one start of vLLM, and each gives its own answers."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from cinorms import ask
from cinorms.core import tables
from cinorms.core.errors import ConfigError, DataError
from cinorms.inference import checkpoints
from cinorms.inference.companions import Companion, place_of, write_companions
from cinorms.inference.engines.vllm import offline
from cinorms.prompts.variants import list_variants

from .conftest import TUNING, spec_of
from .test_answers import prompts_of

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


def test_a_model_and_its_adapter_share_a_start(
    tmp_path,
    checkpoint,
    merged,
    flows,
    templates,
    session,
    questions_of,
    monkeypatch,
):
    folder, reference = merged
    monkeypatch.setattr(offline, "_LOADED", {})
    vignettes, variants = tmp_path / "vignettes.parquet", tmp_path / "variants.parquet"
    tables.write(flows, vignettes, tables.VIGNETTES)
    tables.write(list_variants("chatgpt", templates, 1, 2), variants, tables.PROMPTS)
    responses, jobs = tmp_path / "results/s/responses", {}
    for model, more in (("base", {}), ("adapted", {"lora": str(folder)})):
        record = tmp_path / f"results/s/checkpoints/{model}.json"
        record.parent.mkdir(parents=True, exist_ok=True)
        checkpoints.main(
            f"--model {model} --source {checkpoint} --lora={more.get('lora', '')} --lock {tmp_path}/{model}.lock "
            f"--out {record} --log {tmp_path}/{model}.log".split()
        )
        plain = spec_of(checkpoint, model=model, lora_rank=8, n_templates=1, **more).as_plain()
        where = {"journal": str(tmp_path / "results/.journal"), "asker": ["s", "main", model]}
        out = str(responses / f"main/{model}/1-of-1.parquet")
        jobs[model] = Companion(plain, {**TUNING, **where}, str(vignettes), str(variants), out, str(record))
    place = Path(place_of(str(responses), "main", "base", "1-of-1"))
    write_companions(place, [jobs["adapted"]])
    ask.ask_job(jobs["base"], None, [], write=True)
    ask.ask_companions(place, None, [])
    assert len(offline._LOADED) == 1
    with monkeypatch.context() as without_start:  # what was asked is collected
        without_start.setattr(offline.VllmEngine, "_load", None)
        ask.ask_job(jobs["adapted"], None, [], write=True)
    found = {model: tables.read(job.out, tables.RESPONSES)["text"].astype(str) for model, job in jobs.items()}

    alone = spec_of(checkpoint, n_templates=1)
    assert found["base"].tolist() == session.ask(alone)["text"].tolist()
    tokeniser, texts = prompts_of(alone, questions_of(alone))
    for at in range(0, len(texts), 7):
        ids = torch.tensor([tokeniser.tokenizer(texts[at], add_special_tokens=False)["input_ids"]])
        written = reference.generate(ids, do_sample=False, max_new_tokens=8)[0, ids.shape[1] :]
        assert found["adapted"][at] == tokeniser.tokenizer.decode(written, skip_special_tokens=True)
    assert (found["base"] != found["adapted"]).mean() > 0.2
    spec = json.loads(tables.facts(jobs["adapted"].out)["spec"])
    assert spec["lora_revision"] == checkpoints.folder_digest(folder)


def test_an_adapter_that_does_not_fit_is_refused_with_what_to_do(merged, checkpoint, tmp_path):
    folder, _ = merged

    def adapter(**changes: Any) -> Any:
        return offline.VllmEngine(spec_of(checkpoint, **{"lora": str(folder), **changes}), TUNING)._adapter()

    assert adapter(lora_rank=8).lora_path == str(folder)
    with pytest.raises(ConfigError, match=r"has rank 4, and `lora_rank` of its entry is 1: set it"):
        adapter(lora_rank=1)
    with pytest.raises(DataError, match=r"holds no LoRA adapter \(adapter_config\.json and .*correct `lora`"):
        adapter(lora_rank=8, lora=str(tmp_path))
    with pytest.raises(DataError, match=r"the adapter in .* sha256:0 was fetched; its files have changed"):
        adapter(lora_rank=8, lora_revision="sha256:0")
