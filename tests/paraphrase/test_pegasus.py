"""The PEGASUS path from end to end, on a checkpoint of a few thousand random weights made here.

Run by `make test-paraphrase`, in an environment with torch and transformers (requirements/paraphrase.lock).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cinorms.core.scales import papers_scale
from cinorms.prompts.paraphrase.generate import freeze, make_request
from cinorms.prompts.paraphrase.paraphrasers import (
    MAX_TOKENS,
    SPARE,
    Ask,
    ParaphraseError,
    PegasusParaphraser,
)
from cinorms.prompts.prompt_sets import load_prompt_set, part_path

ROOT = Path(__file__).parents[2]
ORIGINAL = (
    "Please indicate the extent to which this scenario is acceptable: {scenario}. The answer needs to be "
    "strictly only one of the following options (without ANY additional text): {options}"
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny PEGASUS: SentencePiece trained on the original, weights drawn at random."""
    import sentencepiece
    import torch

    torch.set_num_threads(1)  # one thread is the fastest for so few weights
    from transformers import PegasusConfig, PegasusForConditionalGeneration, PegasusTokenizer

    folder = tmp_path_factory.mktemp("pegasus")
    text = folder / "text.txt"
    words = ORIGINAL.replace("{scenario}", "Zanzibar").replace("{options}", "Timbuktu").split(". ")
    text.write_text("\n".join([*words, "Tell me how acceptable it is."] * 5), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "spiece"),
        vocab_size=120,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    tokenizer = PegasusTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    model = PegasusForConditionalGeneration(
        PegasusConfig(
            vocab_size=len(tokenizer),
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=32,
            decoder_ffn_dim=32,
            max_position_embeddings=48,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def request_(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    path = tmp_path_factory.mktemp("prompts") / "mine.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "title": "Mine",
                "source": "generate",
                "paraphraser": "pegasus",
                "checkpoint": {"source": str(checkpoint), "revision": None},
                "scale": "acceptability",
                "original": ORIGINAL,
                "count": 3,
                "tries": 2,
                "temperature": 1.5,
                "seed": 7,
            }
        ),
        encoding="utf-8",
    )
    return make_request(load_prompt_set(path), papers_scale("acceptability"), registry={})


@pytest.fixture(scope="module")
def pegasus(request_: dict) -> PegasusParaphraser:
    return PegasusParaphraser(request_["paraphraser"])


def ask(seed: int = 7, wanted: int = 3) -> Ask:
    return Ask((ORIGINAL,), wanted, "acceptability", temperature=1.5, seed=seed)


def test_more_candidates_than_wanted_come_back_and_the_seed_decides_them(pegasus):
    first = pegasus.ask(ask())
    assert len(first.texts) == len(set(first.texts)) == 2 * 3 + SPARE
    assert pegasus.ask(ask()) == first
    assert pegasus.ask(ask(seed=8)).texts != first.texts


def test_a_candidate_has_no_more_tokens_than_the_checkpoint_allows(pegasus):
    assert pegasus._max_tokens == 48 < MAX_TOKENS
    tokens = pegasus._tokenizer(list(pegasus.ask(ask()).texts)).input_ids
    # Two sentences of 48 tokens each; read again they may be cut into other tokens, but not into many more.
    assert max(map(len, tokens)) <= 2 * 2 * 48


def test_good_sentences_come_through_with_their_placeholders(request_, pegasus, tmp_path, monkeypatch):
    reworded = {
        "Please": [
            "Tell me to what extent ZANZIBAR is acceptable.",
            "How acceptable is this scenario: Zanzibar?",
        ],
        "The": [
            "Answer with one of these options and nothing else: Timbuktu",
            "Use one of (no text): Timbuktu",
        ],
    }
    monkeypatch.setattr(
        pegasus, "_reword", lambda sentence, ask: [*reworded[sentence.split()[0]], "le le le"]
    )
    out = tmp_path / "frozen" / "mine.yaml"
    freeze(request_, pegasus, out)
    frozen = load_prompt_set(out)
    assert len(frozen.templates) == 4
    assert all(template.count("{scenario}") == 1 for template in frozen.templates)
    assert "ZANZIBAR" not in " ".join(frozen.templates)


def test_a_checkpoint_that_is_not_there_gives_one_message(tmp_path, monkeypatch):
    with pytest.raises(ParaphraseError, match=r"checkpoint '.*nowhere' cannot be loaded"):
        PegasusParaphraser({"name": "pegasus", "source": str(tmp_path / "nowhere")})


def test_the_command_runs_in_a_process_of_its_own_and_keeps_the_part(request_, tmp_path):
    out, log = tmp_path / "frozen/mine.yaml", tmp_path / "log.txt"
    command = [sys.executable, "-m", "cinorms.prompts.paraphrase.generate", "--request", json.dumps(request_)]
    done = subprocess.run(
        [*command, "--out", str(out), "--log", str(log)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow/lib"), "OMP_NUM_THREADS": "1"},
        text=True,
        capture_output=True,
    )
    assert done.returncode == 1
    assert "0 of 3 paraphrases by pegasus are valid, 3 missing after round 2" in done.stderr
    assert "round 2: {scenario} appears 0 times" in done.stderr
    assert "Traceback" not in done.stderr + log.read_text(encoding="utf-8")
    assert not out.exists()
    provenance = yaml.safe_load(part_path(out).read_text(encoding="utf-8"))["provenance"]
    assert len(provenance["rejected"]) == 2 * (2 * 3 + SPARE)
    assert [one["seed"] for one in provenance["rounds"]] == [7, 8]
    assert set(provenance["software"]) >= {"torch", "transformers", "tokenizers"}
