"""The control model's own tokenizer: a byte-level BPE of a few hundred tokens with a chat template."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

BEGIN, END = "<|begin|>", "<|end|>"
#: A chat as the control model reads it; an answer ends with ``END``.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_ROLES = ("<|system|>", "<|user|>", "<|assistant|>")


def make_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """Return a fast tokenizer of at most ``vocabulary`` tokens, trained on ``texts``.

    Any text can be encoded; it adds no special token by itself, as its chat template writes them.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[BEGIN, END, *_ROLES],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=END,
        extra_special_tokens=list(_ROLES),
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
