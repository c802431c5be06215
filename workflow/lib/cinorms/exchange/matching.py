"""Match received responses to the questions of a model in an arm: exactly, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cinorms.core.csv_tables import UNMATCHED
from cinorms.core.errors import DataError
from cinorms.exchange.identity import DIGITS, prompt_hash, same_prompt
from cinorms.exchange.received import Received
from cinorms.exchange.way import Way

#: Why a response is not used, or a prompt has none.
UNKNOWN_PROMPT, UNKNOWN_NUMBERS, OTHER_PROMPT = "unknown_prompt", "unknown_numbers", "other_prompt"
SHARED_PROMPT, REPEATED, CONTRADICTING = "shared_prompt", "repeated", "contradicting"
ASKED_OTHERWISE, NOT_RECEIVED = "asked_otherwise", "not_received"

#: The beginning of a hash that may name a prompt.
_SHORTEST = DIGITS


@dataclass(frozen=True)
class Matched:
    """The table of responses, the table `csv_tables.UNMATCHED`, and how many responses were received and used."""

    responses: pd.DataFrame
    unmatched: pd.DataFrame
    n_received: int

    @property
    def reasons(self) -> dict[str, int]:
        """How many rows of ``unmatched`` there are, by reason."""
        return {str(name): int(n) for name, n in sorted(self.unmatched["reason"].value_counts().items())}


class Questionnaire:
    """The prompts of a way of asking, to be looked up by their numbers or by the hash of their text."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self.places: list[tuple[int, int, int]] = []
        self.hashes: list[str] = []
        self._by_place: dict[tuple[int, int, int], int] = {}
        self._by_hash: dict[str, list[int]] = {}
        for at, prompt in enumerate(way.prompts()):
            place = (prompt.flow, prompt.template, prompt.order)
            self.places.append(place)
            self.hashes.append(prompt.sha256)
            self._by_place[place] = at
            self._by_hash.setdefault(prompt.sha256[:_SHORTEST], []).append(at)

    def find(self, one: Received) -> int | str:
        """Return the position of the question that ``one`` answers, or why there is none."""
        at = self._named(one)
        if isinstance(at, int) and not all(self._asks(at, text, one.in_part) for text in one.recorded):
            return ASKED_OTHERWISE
        return at

    def _named(self, one: Received) -> int | str:
        named = one.sha256 if one.sha256 and len(one.sha256) >= _SHORTEST else None
        if one.flow is not None and one.template is not None and one.order is not None:
            at = self._by_place.get((one.flow, one.template, one.order))
            if at is None:
                return UNKNOWN_NUMBERS
            return OTHER_PROMPT if one.sha256 and not self._is(at, one.sha256) else at
        found = (
            [at for at in self._by_hash.get(named[:_SHORTEST], []) if self._is(at, named)] if named else []
        )
        if not found:
            return UNKNOWN_PROMPT
        return found[0] if len(found) == 1 else SHARED_PROMPT

    def _asks(self, at: int, recorded: str, in_part: bool) -> bool:
        if prompt_hash(recorded) == self.hashes[at]:
            return True
        contents = self._way.contents(at)
        return same_prompt(recorded, contents) or (in_part and same_prompt(recorded, contents[-1:]))

    def _is(self, at: int, sha256: str) -> bool:
        return len(sha256) >= _SHORTEST and self.hashes[at].startswith(sha256)


def match(way: Way, received: Iterable[Received], whose: str) -> Matched:
    """Return the responses that answer a question of ``way``, and everything that is left over.

    A prompt with several responses has one only if all of them are the same; otherwise it has none. Raises
    ``DataError`` where no response answers a question: ``whose`` names the files.
    """
    asked = Questionnaire(way)
    answers: dict[int, list[Received]] = {}
    left: list[tuple[str, Received]] = []
    n_received = 0
    for one in received:
        n_received += 1
        found = asked.find(one)
        if isinstance(found, str):
            left.append((found, one))
        else:
            # Compared already: the prompts of a whole study need not be kept.
            answers.setdefault(found, []).append(replace(one, recorded=()))
    taken: dict[int, Received] = {}
    for at, several in answers.items():
        same = len({(one.text, one.finish_reason) for one in several}) == 1
        if same:
            taken[at] = several[0]
        left += [(REPEATED if same else CONTRADICTING, one) for one in several[same:]]
    if not taken:
        raise _nothing(n_received, left, len(way), whose)
    return Matched(_responses(way, taken), _unmatched(asked, left, taken), n_received)


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


def _responses(way: Way, taken: dict[int, Received]) -> pd.DataFrame:
    """Return the table of responses, built as that of an engine: the same answers then are the same bytes."""
    at = np.array(sorted(taken), dtype=np.int64)
    rows = [taken[int(each)] for each in at]
    reasons = pd.Series([one.finish_reason for one in rows], dtype="str")
    asked = way.questions.named(at).reset_index(drop=True)
    return asked.assign(
        text=pd.Categorical([one.text for one in rows]),
        finish_reason=pd.Categorical(reasons),
        n_prompt_tokens=pd.array([one.n_prompt_tokens for one in rows], dtype="Int32"),
        n_output_tokens=pd.array([one.n_output_tokens for one in rows], dtype="Int32"),
        p_options=None,
    )


def _unmatched(
    asked: Questionnaire, left: list[tuple[str, Received]], taken: dict[int, Received]
) -> pd.DataFrame:
    received = [
        (reason, one.file, one.line, one.flow, one.template, one.order, one.sha256, one.text)
        for reason, one in sorted(left, key=lambda each: (each[1].file, each[1].line))
    ]
    missing = [
        (NOT_RECEIVED, None, None, *place, sha256, None)
        for at, (place, sha256) in enumerate(zip(asked.places, asked.hashes, strict=True))
        if at not in taken
    ]
    frame = pd.DataFrame([*received, *missing], columns=list(UNMATCHED.about))
    return frame.astype(dict.fromkeys(("line", "flow", "template", "order"), "Int64"))
