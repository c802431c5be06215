"""The answers stage: responses in, answers out, with manual overrides and a review list."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.answers.reading.reader import EXACT_RULES, Reading, check_offer, fixed_wording, read_text
from cinorms.core.errors import DataError
from cinorms.core.files import replacing
from cinorms.core.scales import LEVELS, Scale
from cinorms.core.tables import ANSWER_STATUSES

#: What a person can say of a text that holds no level. ``invalid`` is kept for published data.
OVERRIDE_STATUSES = tuple(s for s in ANSWER_STATUSES if s not in ("ok", "invalid"))
OVERRIDE_COLUMNS = ("text", "sha256", "level", "status", "note")
REVIEW_COLUMNS = ["sha256", "text", "count", "level", "status", "rule"]

_NO_LEVEL = -128
#: How a spreadsheet recognises a formula, behind any apostrophes that already defuse one.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


def text_hash(text: str) -> str:
    """Return the SHA-256 of ``text`` in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_responses(
    responses: pd.DataFrame,
    scale: Scale,
    offered: str = "words",
    overrides: pd.DataFrame | None = None,
    prompts: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Read a RESPONSES table into an ANSWERS table, row for row.

    Each distinct (text, finish reason) is read once, with its order where letters or numbers were offered.
    ``overrides`` (see ``load_overrides``) go before every rule but ``engine_error``; the templates of
    ``prompts`` are not taken for answers where a text repeats them. A row without a text but with
    ``p_options`` (the probability of each option, lowest option first) gets the most probable option.
    """
    units, readings = _read_distinct(responses, scale, offered, overrides, prompts)
    statuses = list(ANSWER_STATUSES)
    rules = sorted({r.rule for r in readings} | {"options"})
    level = np.array([_NO_LEVEL if r.level is None else r.level for r in readings], dtype=np.int8)[units]
    status = np.array([statuses.index(r.status) for r in readings], dtype=np.int8)[units]
    rule = np.array([rules.index(r.rule) for r in readings], dtype=np.int16)[units]
    if "p_options" in responses:
        _read_options(responses, scale, level, status, rule, rules.index("options"))
    answers = pd.DataFrame({c: responses[c].array for c in ("flow", "variant", "order")})
    answers["level"] = pd.arrays.IntegerArray(
        np.where(level == _NO_LEVEL, 0, level).astype(np.int8), level == _NO_LEVEL
    )
    answers["status"] = pd.Categorical.from_codes(status, categories=pd.Index(statuses))
    answers["rule"] = pd.Categorical.from_codes(rule, categories=pd.Index(rules))
    answers["p_options"] = responses["p_options"].array if "p_options" in responses else None
    return answers


def _read_distinct(
    responses: pd.DataFrame,
    scale: Scale,
    offered: str,
    overrides: pd.DataFrame | None,
    prompts: pd.DataFrame | None,
) -> tuple[npt.NDArray[np.intp], list[Reading]]:
    """Return for each row the number of its reading, and the readings."""
    text, finish = _categories(responses["text"]), _categories(responses["finish_reason"])
    parts = [text, finish]
    order = _categories(responses["order"]) if offered != "words" else None
    if order is not None:
        parts.append(order)
    key = np.zeros(len(responses), dtype=np.int64)
    for part in parts:
        key = key * (len(part.categories) + 1) + part.codes + 1
    units, keys = pd.factorize(key)
    words = (
        frozenset().union(*map(fixed_wording, prompts["template"])) if prompts is not None else frozenset()
    )
    settled = _settled(text, overrides)
    # As lists: taking one of an index at a time is slow.
    distinct = [part.categories.tolist() for part in parts]
    readings = []
    for code in keys.tolist():
        values: list[str | None] = []
        for categories in reversed(distinct):
            code, at = divmod(code, len(categories) + 1)
            values.insert(0, categories[at - 1] if at else None)
        shown = values[2] or "" if order is not None else "01234"
        if values[1] != "error" and values[0] in settled:
            check_offer(scale, offered, shown)
            readings.append(settled[values[0]])
        else:
            readings.append(read_text(values[0], scale, values[1] or "stop", offered, words, shown))
    return units, readings


def _categories(column: pd.Series) -> pd.Categorical:
    """Return ``column`` as codes into its distinct values."""
    return column.array if isinstance(column.dtype, pd.CategoricalDtype) else pd.Categorical(column)


def _settled(text: pd.Categorical, overrides: pd.DataFrame | None) -> dict[str | None, Reading]:
    """Return the reading of each distinct text that an override settles."""
    if overrides is None or overrides.empty:
        return {}
    levels = [None if pd.isna(v) else int(v) for v in overrides["level"]]
    by_hash = {
        digest: Reading(level, status, "override")
        for digest, level, status in zip(overrides["sha256"], levels, overrides["status"], strict=True)
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
    chosen = np.asarray(LEVELS, dtype=np.int8)[np.argmax(np.where(np.isnan(p), -np.inf, p), axis=1)]
    level[rows] = np.where(known & single, chosen, _NO_LEVEL)
    ok, tie = ANSWER_STATUSES.index("ok"), ANSWER_STATUSES.index("ambiguous")
    status[rows] = np.where(known, np.where(single, ok, tie), engine_error)
    rule[rows] = rule_code


# --- overrides
# --------------------------------------------------------------------------------------------------


def load_overrides(path: str | Path) -> pd.DataFrame:
    """Read ``overrides.csv``: what a person says of a text, one line each.

    Columns: ``text`` as the review list shows it, or ``sha256`` (which counts where both are given);
    exactly one of ``level`` (-2 to 2) and ``status``; ``note`` is free. Returns line, sha256, text, level,
    status, note; a line with a level has the status ok. DataError names the file, the line, what was given
    and what is allowed.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as handle:
            reader = csv.DictReader(handle, strict=True)
            header = list(reader.fieldnames or [])
            unknown = [c for c in header if c not in OVERRIDE_COLUMNS]
            if unknown or not {"text", "sha256"} & set(header) or not {"level", "status"} & set(header):
                raise DataError(
                    f"{path}, line 1: columns {header}; allowed: {', '.join(OVERRIDE_COLUMNS)}"
                    " (text or sha256, level or status; note if you like)"
                )
            rows = [(reader.line_num, row) for row in reader]
    except OSError as problem:
        raise DataError(
            f"{path}: cannot be read ({problem.strerror}); give an overrides file or none"
        ) from problem
    except (UnicodeDecodeError, csv.Error) as problem:
        raise DataError(f"{path}: not a CSV file in UTF-8 ({problem}); save it as 'CSV UTF-8'") from problem
    lines = [_override(path, line, row) for line, row in rows if any(v for v in row.values())]
    frame = pd.DataFrame(lines, columns=["line", "sha256", "text", "level", "status", "note"])
    twice = frame[frame.duplicated("sha256", keep=False)]
    if len(twice):
        a, b = twice[twice["sha256"] == twice["sha256"].iloc[0]]["line"].iloc[:2]
        raise DataError(f"{path}, line {b}: the same text as line {a}; keep one of the two")
    return frame.astype({"line": "int64", "level": "Int8"})


def _override(path: str | Path, line: int, row: dict[str, str | None]) -> dict[str, object]:
    """Return one checked line of an overrides file."""

    def wrong(given: str, allowed: str) -> DataError:
        return DataError(f"{path}, line {line}: {given}; {allowed}")

    if None in row:
        raise wrong("more cells than the header names", "put a text that holds commas in double quotes")
    cell = {c: (row.get(c) or "") for c in OVERRIDE_COLUMNS}
    digest, level, status = (cell[c].strip().lower() for c in ("sha256", "level", "status"))
    if digest and not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise wrong(f"sha256 is '{cell['sha256']}'", "copy the 64 hexadecimal digits from the review list")
    if not digest and cell["text"] == "":
        raise wrong("neither text nor sha256", "give one of them")
    if bool(level) == bool(status):
        given = f"level '{level}' and status '{status}'" if level else "neither level nor status"
        raise wrong(given, "give exactly one: a level for a valid answer, else a status")
    if level and level not in {str(v) for v in LEVELS}:
        raise wrong(f"level is '{level}'", f"allowed: {', '.join(map(str, LEVELS))}")
    if status and status not in OVERRIDE_STATUSES:
        raise wrong(
            f"status is '{status}'",
            f"allowed: {', '.join(OVERRIDE_STATUSES)}; for a valid answer give its level",
        )
    text = undo_defusing(cell["text"])
    return {
        "line": line,
        "sha256": digest or text_hash(text),
        "text": text,
        "level": int(level) if level else None,
        "status": status or "ok",
        "note": cell["note"],
    }


def match_overrides(responses: pd.DataFrame, overrides: pd.DataFrame) -> pd.DataFrame:
    """Return ``overrides`` with ``n_responses``, the number of responses each settles, 0 for none.

    Responses of a failed engine are not counted: an override does not turn them into answers.
    """
    text = _categories(responses["text"])
    counted = text.codes[(responses["finish_reason"] != "error").to_numpy()]
    counts = np.bincount(counted[counted >= 0], minlength=len(text.categories))
    by_hash = {text_hash(t): int(n) for t, n in zip(text.categories, counts, strict=True)}
    return overrides.assign(n_responses=[by_hash.get(h, 0) for h in overrides["sha256"]])


# --- review
# -----------------------------------------------------------------------------------------------------


def review_table(responses: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return every distinct text that was not read by an exact rule, most frequent first.

    One row per text and reading (a text can read differently where it was cut, or under another order);
    columns sha256, text, count, level, status, rule. ``answers`` must be those of ``responses``, row for
    row; else DataError.
    """
    same = len(responses) == len(answers) and all(
        (responses[c].to_numpy() == answers[c].to_numpy()).all() for c in ("flow", "variant")
    )
    if not same:
        raise DataError(
            "these are not the answers of these responses: their rows differ; read the responses again"
        )
    text = _categories(responses["text"])
    level = answers["level"].fillna(_NO_LEVEL).to_numpy(dtype=np.int64)
    rule, status = _categories(answers["rule"]), _categories(answers["status"])
    loose = ~np.isin(np.asarray(rule.categories), list(EXACT_RULES))
    rows = np.flatnonzero((text.codes >= 0) & loose[rule.codes])
    keys = pd.DataFrame(
        {
            "text": text.codes[rows],
            "level": level[rows],
            "status": status.codes[rows],
            "rule": rule.codes[rows],
        }
    )
    found = keys.value_counts(sort=False).rename("count").reset_index()
    found["text"] = np.asarray(text.categories, dtype=object)[found["text"]]
    found["level"] = found["level"].astype("Int8").mask(found["level"] == _NO_LEVEL)
    found["status"] = np.asarray(status.categories, dtype=object)[found["status"]]
    found["rule"] = np.asarray(rule.categories, dtype=object)[found["rule"]]
    found["sha256"] = [text_hash(t) for t in found["text"]]
    found = found.sort_values(["count", "text", "rule", "level"], ascending=[False, True, True, True])
    return found[REVIEW_COLUMNS].reset_index(drop=True)


def defuse(text: str) -> str:
    """Return ``text`` so that no spreadsheet takes it for a formula: an apostrophe before = + - @ tab CR LF.

    Apostrophes that already stand before such a character get one more, so that ``undo_defusing`` can undo
    it.
    """
    return "'" + text if _FORMULA.match(text) else text


def undo_defusing(text: str) -> str:
    """Return the text that ``defuse`` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def write_review(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a review list as CSV that a spreadsheet opens safely; the file appears whole or not at all."""
    # The mark at the beginning of the file tells spreadsheets that it is UTF-8.
    with (
        replacing(path) as part,
        part.open("w", newline="", encoding="utf-8-sig", errors="backslashreplace") as handle,
    ):
        writer = csv.writer(handle, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(REVIEW_COLUMNS)
        safe = frame.assign(text=frame["text"].map(defuse), level=frame["level"].astype("string").fillna(""))
        writer.writerows(safe[REVIEW_COLUMNS].itertuples(index=False))
