"""From chats to token ids in bulk: the tokenizer's chat template or one of the papers' literal wrappers."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cinorms.core.errors import ConfigError
from cinorms.prompts.variants import wrap

Chat = Sequence[Mapping[str, str]]
Ids = npt.NDArray[np.int32]

#: Some chat templates state the day. This one (the default of Llama 3.1's) keeps prompts the same on every
#: day.
DAY = "26 Jul 2024"
#: Texts per call of the tokenizer, which works on them in parallel.
BLOCK = 1_024


class Tokeniser:
    """Renders chats as one model reads them and gives their token ids.

    ``wrapper`` is ``chat_template`` or a key of ``prompts.WRAPPERS``. Under ``chat_template`` a prompt
    begins with exactly one begin-of-text token where the tokenizer uses one, whether its template writes it
    or not. A literal wrapper gets the tokenizer's special tokens as the papers' engine added them:
    ``llama3``, which writes begin-of-text itself, so has it twice.
    """

    def __init__(
        self, tokenizer: Any, wrapper: str, model: str, variables: Mapping[str, Any] | None = None
    ) -> None:
        if wrapper == "chat_template" and not tokenizer.chat_template:
            raise ConfigError(
                f"model {model!r}: its tokenizer has no chat template; give its entry in config/models.yaml "
                "another `wrap`, allowed: llama2, tulu, llama3, none"
            )
        self.tokenizer = tokenizer
        self._wrapper = wrapper
        self._model = model
        #: What the chat template receives besides the messages.
        self._variables = dict(variables or {})

    @classmethod
    def load(
        cls,
        folder: str | Path,
        wrapper: str,
        model: str,
        trust_remote_code: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> "Tokeniser":
        """Load the tokenizer of the checkpoint in ``folder``."""
        from transformers import AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=trust_remote_code)
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(
                f"model {model!r}: {folder} holds no tokenizer that can be read "
                f"({str(error).splitlines()[0]}); check that `source` in config/models.yaml is a checkpoint"
            ) from error
        return cls(tokenizer, wrapper, model, variables)

    def texts(self, chats: Iterable[Chat]) -> list[str]:
        """Return the text of every chat, up to where the model's answer begins."""
        if self._wrapper != "chat_template":
            return [wrap(chat, self._wrapper) for chat in chats]
        return list(map(self._render, chats))

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """Return the token ids of every text of ``texts``."""
        literal = self._wrapper != "chat_template"
        tokens = self.tokenizer(
            list(texts),
            add_special_tokens=literal,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        return [np.asarray(ids, dtype=np.int32) for ids in tokens]

    def mark(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a mark, as they stand inside an answer."""
        tokens = self.tokenizer(text, add_special_tokens=False, return_attention_mask=False)["input_ids"]
        return tuple(int(i) for i in tokens)

    def continuation(self, text: str, answer: str) -> tuple[int, ...] | None:
        """Return the tokens with which ``answer`` goes on after ``text``; none where they cannot.

        They cannot where the first letters of the answer melt into the last token of the text: a model that
        has been given the text's tokens cannot write that token any more.
        """
        alone, both = self.ids([text, text + answer])
        if len(both) <= len(alone) or not np.array_equal(alone, both[: len(alone)]):
            return None
        return tuple(int(i) for i in both[len(alone) :])

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of every answer, special tokens left out."""
        texts: list[str] = self.tokenizer.batch_decode(
            [list(i) for i in ids], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return texts

    def _render(self, chat: Chat) -> str:
        try:
            text: str = self.tokenizer.apply_chat_template(
                list(chat),
                tokenize=False,
                add_generation_prompt=True,
                **{"date_string": DAY, **self._variables},
            )
        except Exception as error:  # a template may raise anything, jinja2's errors among them
            raise ConfigError(
                f"model {self._model!r}: its chat template refuses the messages "
                f"{[m['role'] for m in chat]} ({error}); use layout: single and no system prompt"
            ) from error
        return text if text.startswith(self._begin) else self._begin + text

    @cached_property
    def _begin(self) -> str:
        """The begin-of-text token, where the tokenizer by itself begins every text with it; else nothing."""
        bos, ids = self.tokenizer.bos_token, self.tokenizer("a")["input_ids"]
        return str(bos) if bos and ids and ids[0] == self.tokenizer.bos_token_id else ""
