"""Responses in, answers out: each distinct text is read once; and what the further askings of an arm gave."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.core.tables import ANSWER_STATUSES, MODEL_STATUSES, USUAL_STATUSES
from optionreader import Reading, fixed_parts, read

#: Level of a text without a level, where levels are whole numbers.
NO_LEVEL = -128
#: The status of a trace cut short without an answer, and the rule that says so.
_TRACE_CUT = "trace_cut"


def text_hash(text: str) -> str:
    """Return the SHA-256 of ``text`` in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def categories(column: pd.Series) -> pd.Categorical:
    """Return ``column`` as codes into its distinct values."""
    return column.array if isinstance(column.dtype, pd.CategoricalDtype) else pd.Categorical(column)


def read_responses(
    responses: pd.DataFrame,
    scale: Scale,
    overrides: pd.DataFrame | None = None,
    prompts: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Read a RESPONSES table into an ANSWERS table, row for row.

    Each distinct (text, finish reason) is read once.
    ``overrides`` (see ``overrides.load_overrides``) override every rule but ``engine_error``; the templates of
    ``prompts`` do not count as answers where a text repeats them. A row without a text but with
    ``p_options`` (the probability of each option, lowest option first) gets the most probable option.
    """
    units, readings = _read_distinct(responses, scale, overrides, prompts)
    statuses = list(MODEL_STATUSES if "trace_status" in responses else USUAL_STATUSES)
    rules = sorted(
        {r.rule for r in readings} | {"options"} | ({_TRACE_CUT} if "trace_status" in responses else set())
    )
    level = np.array([NO_LEVEL if r.level is None else r.level for r in readings], dtype=np.int8)[units]
    status = np.array([statuses.index(r.status) for r in readings], dtype=np.int8)[units]
    rule = np.array([rules.index(r.rule) for r in readings], dtype=np.int16)[units]
    if "p_options" in responses:
        _read_options(responses, scale, level, status, rule, rules.index("options"))
    if "trace_status" in responses:
        nothing = np.array([r.rule == "empty" for r in readings], dtype=bool)[units]
        cut = (responses["trace_status"] == "cut").to_numpy(dtype=bool) & nothing
        status[cut], rule[cut] = ANSWER_STATUSES.index(_TRACE_CUT), rules.index(_TRACE_CUT)
    answers = pd.DataFrame({c: responses[c].array for c in ("flow", "variant", "order")})
    answers["level"] = pd.arrays.IntegerArray(
        np.where(level == NO_LEVEL, 0, level).astype(np.int8), level == NO_LEVEL
    )
    answers["status"] = pd.Categorical.from_codes(status, categories=pd.Index(statuses))
    answers["rule"] = pd.Categorical.from_codes(rule, categories=pd.Index(rules))
    return answers


def _read_distinct(
    responses: pd.DataFrame, scale: Scale, overrides: pd.DataFrame | None, prompts: pd.DataFrame | None
) -> tuple[npt.NDArray[np.intp], list[Reading]]:
    """Return for each row the number of its reading, and the readings."""
    text, finish = categories(responses["text"]), categories(responses["finish_reason"])
    # As lists, because taking one of an index at a time is slow; the code of a missing value is -1.
    texts, reasons = [*text.categories.tolist(), None], [*finish.categories.tolist(), None]
    units, pairs = pd.factorize((text.codes.astype(np.int64) + 1) * len(reasons) + finish.codes + 1)
    words = frozenset().union(*map(fixed_parts, prompts["template"])) if prompts is not None else frozenset()
    settled = settled_texts(text.categories, overrides, scale)
    apart = "trace_status" in responses
    readings = []
    for pair in pairs.tolist():
        reply, reason = texts[pair // len(reasons) - 1], reasons[pair % len(reasons) - 1]
        if reason != "error" and reply in settled:
            readings.append(settled[reply])
        else:
            reading = read(reply, scale, finish_reason=reason or "stop", prompt=words, reasoning_apart=apart)
            readings.append(reading)
    return units, readings


def settled_texts(
    texts: Iterable[str], overrides: pd.DataFrame | None, scale: Scale
) -> dict[str | None, Reading]:
    """Return the reading of each distinct text that an override settles; a level of another scale settles none."""
    if overrides is None or overrides.empty:
        return {}
    levels = [None if pd.isna(v) else int(v) for v in overrides["level"]]
    by_hash = {
        digest: Reading(level, status, "override")
        for digest, level, status in zip(overrides["sha256"], levels, overrides["status"], strict=True)
        if level is None or level in scale.levels
    }
    hashes = {t: text_hash(t) for t in texts}
    return {t: by_hash[h] for t, h in hashes.items() if h in by_hash}


def _read_options(
    responses: pd.DataFrame,
    scale: Scale,
    level: npt.NDArray[np.int8],
    status: npt.NDArray[np.int8],
    rule: npt.NDArray[np.int16],
    rule_code: int,
) -> None:
    """Fill in the rows without a text: the most probable option; a tie is ambiguous, no numbers an error."""
    failed = (responses["finish_reason"] == "error").to_numpy()
    rows = np.flatnonzero(
        responses["text"].isna().to_numpy() & responses["p_options"].notna().to_numpy() & ~failed
    )
    if not len(rows):
        return
    lists = responses["p_options"].to_numpy()[rows]
    lengths = {len(p) for p in lists}
    if lengths != {len(scale.options)}:
        raise DataError(
            f"p_options holds {sorted(lengths)} probabilities; the scale {scale.name} has"
            f" {len(scale.options)} options: read it with the scale that was asked"
        )
    p = np.array([np.asarray(x, dtype=np.float64) for x in lists])
    is_complete = np.isfinite(p).all(axis=1)
    ranked = np.where(np.isnan(p), -np.inf, p)
    single = (p == ranked.max(axis=1, keepdims=True)).sum(axis=1) == 1
    chosen = np.asarray(scale.levels, dtype=np.int8)[ranked.argmax(axis=1)]
    level[rows] = np.where(is_complete & single, chosen, NO_LEVEL)
    ok, tie, error = map(ANSWER_STATUSES.index, ("ok", "ambiguous", "error"))
    status[rows] = np.where(is_complete, np.where(single, ok, tie), error)
    rule[rows] = rule_code
