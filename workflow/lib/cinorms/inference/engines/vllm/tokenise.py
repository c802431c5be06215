"""From chats to token ids in bulk: the tokenizer's chat template or one of the papers' literal wrappers."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from cinorms.core.errors import ConfigError
from cinorms.prompts.variants import wrap

Chat = Sequence[Mapping[str, str]]
Ids = npt.NDArray[np.int32]

#: Some chat templates state the day. This one (the default of Llama 3.1's) keeps prompts the same on every
#: day.
DAY = "26 Jul 2024"
#: Placeholder for a message while the text around it is looked up; no template trims or alters it.
_MARK = "[[message-{}]]"
#: Texts per call of the tokenizer: bounds the memory that its intermediate objects take.
BLOCK = 8_192
#: Blocks that are made ahead: a study of the papers' size whole while its weights load, of a larger one a part, so that
#: memory does not grow with it.
AHEAD = 32

T = TypeVar("T")
R = TypeVar("R")


class Ahead(Generic[R]):
    """The results of ``work`` on ``items`` in order, made by one thread from now on, at most ``most`` ahead."""

    def __init__(self, work: Callable[[T], R], items: Iterable[T], most: int = AHEAD) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._submitted = (self._pool.submit(work, item) for item in items)
        self._waiting: deque[Future[R]] = deque(islice(self._submitted, most))

    def __iter__(self) -> Iterator[R]:
        while self._waiting:
            result = self._waiting.popleft().result()
            self._waiting.extend(islice(self._submitted, 1))
            yield result

    def stop(self) -> None:
        """Give up what is not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)


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
        self._frames: dict[tuple[str, ...], list[str] | None] = {}

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
        return [self._by_frame(chat) for chat in chats]

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """Return the token ids of every text of ``texts``."""
        literal = self._wrapper != "chat_template"
        tokens: list[Ids] = []
        for first in range(0, len(texts), BLOCK):
            block = self.tokenizer(
                list(texts[first : first + BLOCK]),
                add_special_tokens=literal,
                return_attention_mask=False,
                return_token_type_ids=False,
            )["input_ids"]
            tokens += [np.asarray(ids, dtype=np.int32) for ids in block]
        return tokens

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

    def _by_frame(self, chat: Chat) -> str:
        """Render a chat with the text that the template puts around messages, computed once per sequence of roles.

        Running the template itself for each of 228,096 prompts takes minutes.
        """
        roles = tuple(message["role"] for message in chat)
        if roles not in self._frames:
            self._frames[roles] = self._frame(chat)
        frame = self._frames[roles]
        if frame is None or any(m["content"] != m["content"].strip() for m in chat):
            return self._render(chat)
        return _framed(frame, chat)

    def _frame(self, chat: Chat) -> list[str] | None:
        """Return the text before, between and after the messages; none where the template looks into them."""
        marks = [_MARK.format(i) for i in range(len(chat))]
        rest = self._render([{**m, "content": mark} for m, mark in zip(chat, marks, strict=True)])
        frame = []
        for mark in marks:
            before, found, rest = rest.partition(mark)
            if not found or mark in rest:
                return None
            frame.append(before)
        frame.append(rest)
        return frame if _framed(frame, chat) == self._render(chat) else None

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
        bos = self.tokenizer.bos_token
        if bos and not text.startswith(bos):
            # Does the tokenizer by itself begin every text with its begin-of-text token?
            ids = self.tokenizer("a")["input_ids"]
            return str(bos) + text if ids and ids[0] == self.tokenizer.bos_token_id else text
        return text


def _framed(frame: Sequence[str], chat: Chat) -> str:
    parts = [frame[0]]
    for message, after in zip(chat, frame[1:], strict=True):
        parts += [message["content"], after]
    return "".join(parts)
