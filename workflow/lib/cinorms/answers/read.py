"""Responses in, answers out: each distinct text is read once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.answers.distinct import NO_LEVEL, categories, text_hash
from cinorms.answers.reading.reader import Reading, check_offer, fixed_wording, read_text
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.core.tables import ANSWER_STATUSES, USUAL_STATUSES

#: The status of a trace cut short without an answer, and the rule that says so.
_TRACE_CUT = "trace_cut"
#: Rules that find no text at all.
_NOTHING = ("empty",)


def read_responses(
    responses: pd.DataFrame,
    scale: Scale,
    offered: str = "words",
    overrides: pd.DataFrame | None = None,
    prompts: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Read a RESPONSES table into an ANSWERS table, row for row.

    Each distinct (text, finish reason) is read once, with its order where letters or numbers were offered.
    ``overrides`` (see ``overrides.load_overrides``) override every rule but ``engine_error``; the templates of
    ``prompts`` do not count as answers where a text repeats them. A row without a text but with
    ``p_options`` (the probability of each option, lowest option first) gets the most probable option.
    """
    units, readings = _read_distinct(responses, scale, offered, overrides, prompts)
    statuses = list(ANSWER_STATUSES if "trace_status" in responses else USUAL_STATUSES)
    rules = sorted(
        {r.rule for r in readings} | {"options"} | ({_TRACE_CUT} if "trace_status" in responses else set())
    )
    level = np.array([NO_LEVEL if r.level is None else r.level for r in readings], dtype=np.int8)[units]
    status = np.array([statuses.index(r.status) for r in readings], dtype=np.int8)[units]
    rule = np.array([rules.index(r.rule) for r in readings], dtype=np.int16)[units]
    if "p_options" in responses:
        _read_options(responses, scale, level, status, rule, rules.index("options"))
    if "trace_status" in responses:
        _note_cut_traces(responses, [r.rule in _NOTHING for r in readings], units, status, rule, rules)
    answers = pd.DataFrame({c: responses[c].array for c in ("flow", "variant", "order")})
    answers["level"] = pd.arrays.IntegerArray(
        np.where(level == NO_LEVEL, 0, level).astype(np.int8), level == NO_LEVEL
    )
    answers["status"] = pd.Categorical.from_codes(status, categories=pd.Index(statuses))
    answers["rule"] = pd.Categorical.from_codes(rule, categories=pd.Index(rules))
    answers["p_options"] = responses["p_options"].array if "p_options" in responses else None
    for name in ("n_trace_tokens", "trace_status"):
        if name in responses:
            answers[name] = responses[name].array
    return answers


def _note_cut_traces(
    responses: pd.DataFrame,
    nothing: list[bool],
    units: npt.NDArray[np.intp],
    status: npt.NDArray[np.int8],
    rule: npt.NDArray[np.int16],
    rules: list[str],
) -> None:
    """Give the status ``trace_cut`` to what has a trace cut short and no text after it."""
    cut = (responses["trace_status"] == "cut").to_numpy(dtype=bool) & np.asarray(nothing, dtype=bool)[units]
    status[cut], rule[cut] = ANSWER_STATUSES.index(_TRACE_CUT), rules.index(_TRACE_CUT)


def _read_distinct(
    responses: pd.DataFrame,
    scale: Scale,
    offered: str,
    overrides: pd.DataFrame | None,
    prompts: pd.DataFrame | None,
) -> tuple[npt.NDArray[np.intp], list[Reading]]:
    """Return for each row the number of its reading, and the readings."""
    text, finish = categories(responses["text"]), categories(responses["finish_reason"])
    parts = [text, finish]
    order = categories(responses["order"]) if offered != "words" else None
    if order is not None:
        parts.append(order)
    key = np.zeros(len(responses), dtype=np.int64)
    for part in parts:
        key = key * (len(part.categories) + 1) + part.codes + 1
    units, keys = pd.factorize(key)
    words = (
        frozenset().union(*map(fixed_wording, prompts["template"])) if prompts is not None else frozenset()
    )
    settled = _settled(text, overrides, scale)
    apart = "trace_status" in responses
    # As lists: taking one of an index at a time is slow.
    distinct = [part.categories.tolist() for part in parts]
    readings = []
    for code in keys.tolist():
        values: list[str | None] = []
        for known in reversed(distinct):
            code, at = divmod(code, len(known) + 1)
            values.insert(0, known[at - 1] if at else None)
        shown = values[2] or "" if order is not None else None
        if values[1] != "error" and values[0] in settled:
            check_offer(scale, offered, shown or "")
            readings.append(settled[values[0]])
        else:
            readings.append(read_text(values[0], scale, values[1] or "stop", offered, words, shown, apart))
    return units, readings


def _settled(text: pd.Categorical, overrides: pd.DataFrame | None, scale: Scale) -> dict[str | None, Reading]:
    """Return the reading of each distinct text that an override settles; a level of another scale settles none."""
    if overrides is None or overrides.empty:
        return {}
    levels = [None if pd.isna(v) else int(v) for v in overrides["level"]]
    by_hash = {
        digest: Reading(level, status, "override")
        for digest, level, status in zip(overrides["sha256"], levels, overrides["status"], strict=True)
        if level is None or level in scale.levels
    }
    hashes = {t: text_hash(t) for t in text.categories}
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
    engine_error = ANSWER_STATUSES.index("error")
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
    known = np.isfinite(p).all(axis=1)
    top = np.where(np.isnan(p), -np.inf, p).max(axis=1, keepdims=True)
    single = (p == top).sum(axis=1) == 1
    chosen = np.asarray(scale.levels, dtype=np.int8)[np.argmax(np.where(np.isnan(p), -np.inf, p), axis=1)]
    level[rows] = np.where(known & single, chosen, NO_LEVEL)
    ok, tie = ANSWER_STATUSES.index("ok"), ANSWER_STATUSES.index("ambiguous")
    status[rows] = np.where(known, np.where(single, ok, tie), engine_error)
    rule[rows] = rule_code
