"""Import the responses of a model in an arm from the files of another tool: matched exactly, or not at all."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.csv_tables import UNMATCHED
from cinorms.core.errors import DataError
from cinorms.core.files import sha256_of
from cinorms.core.logs import SHORTEST_KEY, redact
from cinorms.core.version import version
from cinorms.exchange.registry import STATED, Format, Received
from cinorms.exchange.way import DIGITS, Way, same_prompt, ways_of
from cinorms.inference.request import Request

#: Different values of a setting that are noted.
MOST_VALUES = 5

#: Keys of services whose keys can be told by their form, and whatever follows "Bearer".
_KEY = re.compile(
    r"\b(?:sk-[\w-]{16,}|hf_\w{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abpr]-[\w-]{10,})"
    r"|(?<=[Bb]earer )[\w.~+/-]{16,}"
)
_HOME = re.compile(
    r"(\b[A-Za-z]:\\Users\\)[^\\/:\n]+(?=\\)|((?:/home|/Users|\b[A-Za-z]:\\Users)[/\\])[^/\\\s\"':,;]+"
)

#: Why a response is not used, or a prompt has none.
UNKNOWN_PROMPT, UNKNOWN_NUMBERS, OTHER_PROMPT = "unknown_prompt", "unknown_numbers", "other_prompt"
SHARED_PROMPT, REPEATED, CONTRADICTING = "shared_prompt", "repeated", "contradicting"
ASKED_OTHERWISE, NOT_RECEIVED = "asked_otherwise", "not_received"


@dataclass(frozen=True)
class Imported:
    """The table of responses, the table `csv_tables.UNMATCHED`, how many were received, and what their file states."""

    responses: pd.DataFrame
    unmatched: pd.DataFrame
    n_received: int
    #: How many rows of ``unmatched`` there are, by reason.
    reasons: dict[str, int]
    metadata: dict[str, str]

    def message(self, model: str, unmatched: str | Path) -> str:
        """Return how many prompts have a response, and where everything else is listed."""
        reasons = dict(self.reasons)
        missing = reasons.pop(NOT_RECEIVED, 0)
        n = len(self.responses)
        text = f"{model}: {n:,} of {n + missing:,} prompts have a response"
        if missing:
            text += f"; {missing:,} were not received"
        if reasons:
            listed = ", ".join(f"{name} {count:,}" for name, count in reasons.items())
            text += f"; {sum(reasons.values()):,} of {self.n_received:,} responses are not used ({listed})"
        return text + (f". They are listed in {unmatched}" if missing or reasons else "")


def import_responses(
    format_: Format,
    files: Sequence[str | Path],
    request: Request,
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    origin: str | None,
    secrets: Sequence[str] = (),
) -> Imported:
    """Read ``files`` and match their responses to what ``request`` asks.

    ``origin`` is where the user states that the responses are from. ``secrets`` are redacted as in replies to this
    project's own requests, and so is what looks like a key or names a home folder: a file from elsewhere may hold
    another person's. Raises ``DataError`` with file and line for what cannot be read.
    """
    (way,) = ways_of([request], vignettes, variants)
    # What files state of how their responses were collected is counted on the way.
    counts: dict[str, Counter[Any]] = {name: Counter() for name in STATED}

    def received() -> Iterator[Received]:
        for path in paths:
            if not path.is_file():
                raise DataError(f"{path}: there is no such file; correct 'response_files' of the arm")
            for response in format_.read(path):
                response = _redacted(response, keys)
                for name, value in response.stated.items():
                    counts[name][value if isinstance(value, str | int | float) else str(value)] += 1
                yield response

    paths = [Path(file) for file in files]
    keys = [secret for secret in secrets if len(secret) >= SHORTEST_KEY]
    responses, unmatched, n_received = _match(way, received(), ", ".join(map(str, files)))
    reasons = {str(name): int(n) for name, n in sorted(unmatched["reason"].value_counts().items())}
    stated = {
        name: [value for value, _ in values.most_common(MOST_VALUES)]
        for name, values in counts.items()
        if values
    }
    metadata = {
        "format": format_.name,
        "origin": origin,
        # Never the folder of a file, which is of no use elsewhere.
        "files": [{"name": path.name, "sha256": sha256_of(path)} for path in paths],
        "received": n_received,
        "used": len(responses),
        "unmatched": reasons,
        "stated": stated,
        "unlike_the_arm": [
            f"{name} {value} instead of {getattr(request, name)}"
            for name in ("temperature", "max_tokens")
            for value in stated.get(name, [])
            if value != getattr(request, name)
        ],
        "request": request.plain(),
    }
    elsewhere = json.dumps(metadata, sort_keys=True, allow_nan=False)
    return Imported(responses, unmatched, n_received, reasons, {"cinorms": version(), "elsewhere": elsewhere})


def anonymous(text: str) -> str:
    """Return a text from elsewhere with marks in place of what looks like a key, and of the name of a home folder."""
    return _HOME.sub(r"\1\2[user]", _KEY.sub("[key]", text))


def _redacted(response: Received, keys: Sequence[str]) -> Received:
    """Return a response with marks in place of keys and home folders, in every text of it that a file will hold."""

    def clean(text: str) -> str:
        return anonymous(redact(text, keys))

    texts: dict[str, Any] = {
        name: clean(text)
        for name in ("file", "text", "finish_reason", "sha256")
        if isinstance(text := getattr(response, name), str)
    }
    stated = {
        name: clean(str(value)) if isinstance(value, str | list | dict) else value
        for name, value in response.stated.items()
    }
    return replace(response, stated=stated, **texts)


class _Questionnaire:
    """The prompts of a way of asking, to be looked up by their numbers or by the hash of their text."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self.hashes: list[str] = []
        #: The position of a prompt by flow, template and order; and those of the prompts whose hash begins alike.
        self.positions: dict[tuple[int, int, int], int] = {}
        self._by_hash: dict[str, list[int]] = {}
        for position, prompt in enumerate(way.prompts()):
            self.hashes.append(prompt.sha256)
            self.positions[prompt.flow, prompt.template, prompt.order] = position
            self._by_hash.setdefault(prompt.sha256[:DIGITS], []).append(position)

    def find(self, response: Received) -> int | str:
        """Return the position of the question that ``response`` answers, or why there is none."""
        sha256 = response.sha256 or ""
        if response.flow is not None and response.template is not None and response.order is not None:
            position = self.positions.get((response.flow, response.template, response.order))
            if position is None:
                return UNKNOWN_NUMBERS
            if sha256 and not (len(sha256) >= DIGITS and self.hashes[position].startswith(sha256)):
                return OTHER_PROMPT
        else:
            # A shorter beginning of a hash names no prompt.
            alike = [
                position
                for position in self._by_hash.get(sha256[:DIGITS], [])
                if self.hashes[position].startswith(sha256)
            ]
            if len(alike) != 1:
                return SHARED_PROMPT if alike else UNKNOWN_PROMPT
            (position,) = alike
        if response.recorded is None or same_prompt(response.recorded, self._way.text(position)):
            return position
        return ASKED_OTHERWISE


def _match(way: Way, received: Iterable[Received], whose: str) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return the responses that answer a question of ``way``, everything that is left over, and how many there were.

    A prompt with several responses has one only if all of them are the same; otherwise it has none. Raises
    ``DataError`` where no response answers a question: ``whose`` names the files.
    """
    asked = _Questionnaire(way)
    answers: dict[int, list[Received]] = {}
    left: list[tuple[str, Received]] = []
    n_received = 0
    for response in received:
        n_received += 1
        position = asked.find(response)
        if isinstance(position, str):
            left.append((position, response))
        else:
            # Compared already: the prompts of a whole study need not be kept.
            answers.setdefault(position, []).append(replace(response, recorded=None))
    taken: dict[int, Received] = {}
    for position, several in answers.items():
        same = len({(response.text, response.finish_reason) for response in several}) == 1
        if same:
            taken[position] = several.pop(0)
        left += [(REPEATED if same else CONTRADICTING, response) for response in several]
    if not taken:
        raise _nothing(n_received, left, len(way), whose)
    positions = sorted(taken)
    rows = [taken[position] for position in positions]
    # Built as the table of an engine: the same answers then are the same bytes.
    responses = way.questions.named(np.array(positions, dtype=np.int64)).reset_index(drop=True)
    responses = responses.assign(
        text=pd.Categorical([row.text for row in rows]),
        finish_reason=pd.Categorical(pd.Series([row.finish_reason for row in rows], dtype="str")),
        n_prompt_tokens=pd.array([row.n_prompt_tokens for row in rows], dtype="Int32"),
        n_output_tokens=pd.array([row.n_output_tokens for row in rows], dtype="Int32"),
        p_options=None,
    )
    listed: list[tuple[Any, ...]] = [
        (reason, row.file, row.line, row.flow, row.template, row.order, row.sha256, row.text)
        for reason, row in sorted(left, key=lambda pair: (pair[1].file, pair[1].line))
    ]
    listed += [
        (NOT_RECEIVED, None, None, *numbers, asked.hashes[position], None)
        for numbers, position in asked.positions.items()
        if position not in taken
    ]
    unmatched = pd.DataFrame(listed, columns=list(UNMATCHED.about))
    unmatched = unmatched.astype(dict.fromkeys(("line", "flow", "template", "order"), "Int64"))
    return responses, unmatched, n_received


def _nothing(n_received: int, left: list[tuple[str, Received]], n_asked: int, whose: str) -> DataError:
    if not left:
        return DataError(f"{whose}: has no response; export it again, or correct 'response_files'")
    (reason, first), counts = left[0], Counter(reason for reason, _ in left)
    shown = ", ".join(f"{name} {n:,}" for name, n in counts.most_common())
    return DataError(
        f"{whose}: none of the {n_received:,} responses answers one of the arm's {n_asked:,} prompts ({shown}; the "
        f"first: {first.file} line {first.line}, {reason}).\nUse the file of this arm and model; dataset, prompts, "
        "orders and seed must be those of the export, and its prompts asked unchanged"
    )
