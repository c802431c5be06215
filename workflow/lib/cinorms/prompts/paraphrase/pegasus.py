"""PEGASUS: a sequence-to-sequence model that rewords one sentence at a time and takes no instruction."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.prompts.paraphrase.paraphraser import Ask, Candidates, ParaphraseError

#: Words that replace the placeholders while a sentence is reworded: braces are not in PEGASUS' vocabulary,
#: names are, and are seldom reworded. The first one that is not in the template is used.
NAMES = {"{scenario}": ("Zanzibar", "Samarkand"), "{options}": ("Timbuktu", "Reykjavik")}

#: Candidates for a round: twice as many as are wanted and so many more, for they cost nothing and many are
#: unchanged, are there already or have lost a placeholder.
SPARE = 10

#: Longest sentence in tokens, both ways, where the checkpoint's own limit is not shorter.
MAX_TOKENS = 60

#: Sentences made at a time: 64 of 60 tokens fit into 4 GiB.
MAX_CANDIDATES = 64


class PegasusParaphraser:
    """A PEGASUS checkpoint from the hub or a folder, on the GPU where there is one."""

    packages = ("transformers", "torch", "tokenizers")
    instruction = (
        "None: each sentence is reworded by itself, {scenario} shown as Zanzibar and {options} as Timbuktu "
        "(as other names where the template holds these)."
    )

    def __init__(self, entry: Mapping[str, Any]) -> None:
        try:
            import torch
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        except ImportError as error:
            raise ConfigError(
                f"paraphraser 'pegasus': the package {error.name!r} is not installed in this Python; run "
                "with `--sdm conda`, which makes envs/paraphrase.yaml, or run `make .venv-paraphrase/done` "
                "once: that environment is then used"
            ) from None
        source, revision = entry["source"], entry.get("revision")
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
            model = AutoModelForSeq2SeqLM.from_pretrained(source, revision=revision)
        except (OSError, ValueError) as error:
            raise ParaphraseError(
                f"paraphraser 'pegasus': the checkpoint {source!r} cannot be loaded: {error}"
            ) from error
        self._model = model.to(self._device).eval()
        self._commit = getattr(model.config, "_commit_hash", None)
        self._max_tokens = min(MAX_TOKENS, model.config.max_position_embeddings)

    def ask(self, ask: Ask) -> Candidates:
        """Reword each sentence of the original and put the rewordings together at random.

        ``2 * ask.wanted + SPARE`` candidates come back, fewer where the sentences give fewer.
        """
        hidden, names = protect(ask.templates[0])
        choices = [self._reword(sentence, ask) for sentence in sentences(hidden)]
        whole = combine(choices, 2 * ask.wanted + SPARE, ask.seed)
        reported = {"device": self._device, **({"commit": self._commit} if self._commit else {})}
        return Candidates(tuple(restore(text, names) for text in whole) or ("",), reported)

    def _reword(self, sentence: str, ask: Ask) -> list[str]:
        """Return distinct rewordings of ``sentence``."""
        batch = self._tokenizer(
            [sentence], truncation=True, max_length=self._max_tokens, return_tensors="pt"
        ).to(self._device)
        self._torch.manual_seed(ask.seed)
        with self._torch.inference_mode():
            tokens = self._model.generate(
                **batch,
                do_sample=True,
                num_beams=1,
                temperature=ask.temperature,
                num_return_sequences=min(2 * ask.wanted + SPARE, MAX_CANDIDATES),
                max_length=self._max_tokens,
            )
        texts = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return list(dict.fromkeys(" ".join(text.split()) for text in texts))


def protect(template: str) -> tuple[str, dict[str, str]]:
    """Return ``template`` with a name in the place of each placeholder, and the names by placeholder.

    Raises ``ConfigError`` where the template has every name that could replace a placeholder.
    """
    used = {}
    for placeholder, names in NAMES.items():
        free = [name for name in names if name.casefold() not in template.casefold()]
        if not free:
            raise ConfigError(
                f"original: {' and '.join(names)} replace {placeholder} for PEGASUS; take one of them out"
            )
        used[placeholder] = free[0]
        template = template.replace(placeholder, free[0])
    return template, used


def restore(text: str, names: Mapping[str, str]) -> str:
    """Put the placeholders back, however the names are written; the checks see those that were lost."""
    for placeholder, name in names.items():
        text = re.sub(rf"\b{name}\b", placeholder, text, flags=re.IGNORECASE)
    return text


def sentences(text: str) -> list[str]:
    """Split ``text`` after each ``.``, ``?`` or ``!`` before a space and a capital, bracket or quotation."""
    return re.split(r"(?:(?<=[.?!])|(?<=[.?!][\"”]))\s+(?=[A-Z(\"“])", text)


def combine(choices: Sequence[Sequence[str]], wanted: int, seed: int) -> list[str]:
    """Return up to ``wanted`` distinct texts, each with one of the ``choices`` for every sentence."""
    draw = random.Random(seed)
    texts: dict[str, None] = {}
    for _ in range(20 * wanted):
        if len(texts) == wanted:
            break
        texts[" ".join(draw.choice(list(options)) for options in choices)] = None
    return list(texts)
