"""The replies of a model in an arm, for the report: scripts beside the page, each with the replies to some flows."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.answers.read import categories, text_hash
from cinorms.core import tables
from cinorms.core.arrays import Ints
from cinorms.core.scales import Scale
from cinorms.report.results import CALL, INDEX, encode, pack
from optionreader import RULES, fixed_parts, read

#: Letters of distinct replies after which another script begins: one is read in some hundredths of a second.
MOST_LETTERS = 500_000
#: A longer reply keeps its beginning and its end, so many letters of each.
KEPT = 2_000
NOTHING = -1


class _Replies(NamedTuple):
    """Replies: a row per flow, a column per variant, numbers of texts and reasons."""

    flows: Ints
    text: Ints
    finish: Ints
    texts: list[str]
    reasons: list[str]
    #: Whether what the model thought before is kept elsewhere.
    apart: bool


def write_replies(
    responses: pd.DataFrame, answers: pd.DataFrame, prompts: pd.DataFrame, scale: Scale, folder: Path
) -> int:
    """Write the scripts of a model in an arm and the list of them; return how many there are.

    A script has the distinct replies to some flows once each, what was read in them and where, and of each flow and
    variant which reply it got. Reasoning traces are not among them: they are in no table of the study either.
    """
    folder.mkdir(parents=True, exist_ok=True)
    last = []
    for number, (flow, data) in enumerate(_parts(responses, answers, prompts, scale)):
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        (folder / f"{number}.js").write_text(pack(text.encode()).join(CALL), encoding="ascii")
        last.append(flow)
    about = {"last": last, "rules": sorted(answers["rule"].astype(str).unique())}
    (folder / INDEX).write_text(json.dumps(about) + "\n", encoding="utf-8")
    return len(last)


def _parts(
    responses: pd.DataFrame, answers: pd.DataFrame, prompts: pd.DataFrame, scale: Scale
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the data of each script with its last flow."""
    codes, variants = encode(answers, prompts, scale), pd.Index(prompts["variant"].astype(str))
    rules = categories(answers["rule"])
    rule = _placed(answers, codes.flows, variants, rules.codes)
    numbers = answers["level"].fillna(_no_level(scale)).to_numpy(np.int64)
    level = _placed(answers, codes.flows, variants, numbers)
    words = frozenset().union(*map(fixed_parts, prompts["template"]))
    found = _replies(tables.by_key(responses, tables.RESPONSES), codes.flows, variants)
    for rows in _shards(found):
        cells = np.stack([found.text[rows], found.finish[rows], rule[rows], level[rows]], axis=-1)
        yield (
            int(codes.flows[rows[-1]]),
            {
                "flows": codes.flows[rows].tolist(),
                "codes": codes.answers[rows].ravel().tolist(),
                "orders": codes.shown[rows].ravel().tolist(),
                **_read(cells.reshape(-1, 4), found, list(map(str, rules.categories)), scale, words),
            },
        )


def _no_level(scale: Scale) -> int:
    return min(scale.levels) - 1


def _placed(frame: pd.DataFrame, flows: Ints, variants: pd.Index, values: npt.NDArray[Any]) -> Ints:
    whole = np.full((len(flows), len(variants)), NOTHING, dtype=np.int64)
    variant = categories(frame["variant"])
    column = variants.get_indexer(variant.categories.astype(str))[variant.codes]
    whole[np.searchsorted(flows, frame["flow"]), column] = values
    return whole


def _replies(responses: pd.DataFrame, flows: Ints, variants: pd.Index) -> _Replies:
    text, finish = categories(responses["text"]), categories(responses["finish_reason"])
    return _Replies(
        flows,
        _placed(responses, flows, variants, text.codes),
        _placed(responses, flows, variants, finish.codes),
        list(map(str, text.categories)),
        list(map(str, finish.categories)),
        "trace_status" in responses,
    )


def _shards(replies: _Replies) -> Iterator[Ints]:
    """Yield the rows of each script: so many flows that their distinct texts have about `MOST_LETTERS` letters."""
    first, letters, known = 0, 0, set[int]()
    for row, texts in enumerate(replies.text):
        new = set(texts.tolist()) - known - {NOTHING}
        letters += sum(min(len(replies.texts[text]), 2 * KEPT) for text in new)
        known |= new
        if letters >= MOST_LETTERS or row == len(replies.text) - 1:
            yield np.arange(first, row + 1)
            first, letters, known = row + 1, 0, set()


def _read(
    cells: Ints, replies: _Replies, rules: Sequence[str], scale: Scale, words: frozenset[str]
) -> dict[str, Any]:
    """Return the distinct texts and readings of ``cells`` (text, reason, rule, level), and which each cell has."""
    asked = cells[:, 1] != NOTHING
    distinct, number = np.unique(cells[asked], axis=0, return_inverse=True)
    known, place = np.unique(distinct[:, 0], return_inverse=True)
    none = int(len(known) > 0 and known[0] == NOTHING)
    at = np.full(len(cells), NOTHING)
    at[asked] = number.ravel()
    texts = [_Shown.of(replies.texts[text]) for text in known[none:]]
    readings = []
    pairs = zip(distinct.tolist(), (place.ravel() - none).tolist(), strict=True)
    for (text, reason, rule, _), shown in pairs:
        spans: list[tuple[int, int]] = []
        # Others are a person, a coder, or numbers.
        if text != NOTHING and rules[rule] in RULES:
            reading = read(
                replies.texts[text],
                scale,
                finish_reason=replies.reasons[reason],
                prompt=words,
                reasoning_apart=replies.apart,
            )
            spans = reading.spans
        marks = [place for span in spans for place in texts[shown].moved(span)]
        readings.append([shown, rules[rule], replies.reasons[reason], marks])
    cuts = {str(i): [KEPT, shown.left_out, shown.sha256] for i, shown in enumerate(texts) if shown.left_out}
    return {"texts": [shown.text for shown in texts], "cuts": cuts, "readings": readings, "at": at.tolist()}


class _Shown(NamedTuple):
    """A reply as the page shows it: whole, or without its middle."""

    text: str
    left_out: int = 0
    sha256: str = ""

    @classmethod
    def of(cls, text: str) -> "_Shown":
        left_out = len(text) - 2 * KEPT
        return cls(text) if left_out <= 0 else cls(text[:KEPT] + text[-KEPT:], left_out, text_hash(text))

    def moved(self, span: tuple[int, int]) -> tuple[int, int] | tuple[()]:
        """Return where a passage of the whole reply is in what is shown; nothing where it is left out."""
        start, end = span
        if not self.left_out or end <= KEPT:
            return span
        return (start - self.left_out, end - self.left_out) if start >= KEPT + self.left_out else ()
