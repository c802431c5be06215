"""A table of answers: item, wording, answer, one row each; what it gives per item, and two tables compared."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from rewordings.arrays import Floats, divide
from rewordings.fresh import Recurrence, recurrence
from rewordings.pairs import Consistency, consistency
from rewordings.rule import Rule, levels_held
from rewordings.wordings import FEWEST, interval

COLUMNS = ("item", "wording", "answer")
#: More different answers than this are texts, or numbers that want bins.
MOST_ANSWERS = 20


class TableError(ValueError):
    """A table that cannot be used: what is wrong, and what to do."""


class Answers(NamedTuple):
    """How often each answer was given: ``counts`` are answers x items x wordings, in the order of the names."""

    counts: Floats
    answers: pd.Index
    items: pd.Index
    wordings: pd.Index


class Summary(NamedTuple):
    """What one respondent's answers give; ``items`` has a row per item."""

    consistency: Consistency
    recurrence: Recurrence
    items: pd.DataFrame


class Difference(NamedTuple):
    """The mean score of one table less that of the other, with a 95% interval over ``wordings``.

    ``status``: ``ok``; ``one_wording`` or ``nothing_shared``, without an interval.
    """

    status: str
    items: int = 0
    wordings: int = 0
    difference: float = np.nan
    low: float = np.nan
    high: float = np.nan


def read_table(path: str | Path) -> pd.DataFrame:
    """Return a CSV file of answers, all of it text; raises `TableError`."""
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        why = getattr(error, "strerror", None) or str(error).strip()
        raise TableError(f"{path}: cannot be read as CSV: {why}") from error


def by_respondent(table: pd.DataFrame, name: str = "the table") -> dict[str, Answers]:
    """Return the answers of each respondent (column ``respondent``; without it there is one, '').

    A missing ``answer`` is one that could not be read. Several rows of an item and a wording are repeated answers. All
    respondents get the same order of answers, items and wordings. Raises `TableError`.
    """
    if missing := [column for column in COLUMNS if column not in table]:
        raise TableError(
            f"{name}: has no column {', '.join(map(repr, missing))}; it has {', '.join(map(repr, table.columns))}.\n"
            "Needed: item, wording, answer; allowed: repeat, respondent. One row per answer."
        )
    for column in ("item", "wording"):
        if (empty := table[column].isna()).any():
            raise TableError(f"{name}: row {int(empty.argmax()) + 2} has no {column}; every row needs one")
    keys = ["item", "wording", "repeat", *(["respondent"] if "respondent" in table else [])]
    if "repeat" in table and (twice := table.duplicated(keys)).any():
        raise TableError(
            f"{name}: row {int(twice.argmax()) + 2} has the item, wording and repeat of an earlier row; remove one"
        )
    given = table["answer"].dropna()
    number = pd.to_numeric(given, errors="coerce")
    levels = pd.Index(sorted(given.unique(), key=float if number.notna().all() else str))
    if not len(levels) or len(levels) > MOST_ANSWERS:
        raise TableError(
            f"{name}: column 'answer' has {len(levels)} different answers; 1 to {MOST_ANSWERS} are allowed.\n"
            "Code texts as grades or options, and put numbers into bins."
        )
    items, wordings = (pd.Index(table[column].unique()) for column in ("item", "wording"))
    who = table["respondent"].fillna("") if "respondent" in table else pd.Series("", index=table.index)
    found = {}
    for respondent, rows in table.assign(respondent=who).groupby("respondent", sort=False):
        rows, counts = rows.dropna(subset="answer"), np.zeros((len(levels), len(items), len(wordings)))
        at = (names.get_indexer(rows[c]) for c, names in zip(COLUMNS, (items, wordings, levels), strict=True))
        item, wording, level = at
        np.add.at(counts, (level, item, wording), 1)
        found[str(respondent)] = Answers(counts, levels, items, wordings)
    return found


def summarise(answers: Answers, rule: Rule) -> Summary:
    """Return consistency, recurrence, and the verdict ('': none) of each item, with the probability of the same again.

    Raises ``ValueError`` for a majority that is no share.
    """
    if rule.majority != "plurality" and not 0 < float(rule.majority) <= 1:
        raise ValueError(
            f"majority: {rule.majority} is given; a share above 0, at most 1, or 'plurality' is allowed"
        )
    counts = answers.counts
    level, total = levels_held(counts, rule), counts.sum(axis=2)
    found = recurrence(counts, level, rule)
    items = pd.DataFrame(
        {
            "item": answers.items,
            "verdict": np.where(level >= 0, answers.answers.to_numpy()[level], ""),
            "share": divide(total.max(axis=0), total.sum(axis=0)),
            "answers": total.sum(axis=0).astype(int),
            "again": found.probability,
        }
    )
    return Summary(consistency(counts, np.arange(len(counts))), found, items)


def compare(one: Answers, other: Answers, scores: Floats) -> Difference:
    """Return by how much the mean score of ``one`` is above that of ``other``, wordings being the sample.

    ``scores`` has the score of each of ``one.answers``. Both must be of one `by_respondent`: `TableError` where they
    have other items, wordings or answers. Items count the same, each in the wordings in which both answered it, and
    wordings are paired: they move all items at once, which tests over items (sign, Wilcoxon) take for a difference.
    """
    for names in ("items", "wordings", "answers"):
        if not getattr(one, names).equals(getattr(other, names)):
            raise TableError(
                f"compare: the two have other {names}, or another order of them; put both into one table with a column "
                "'respondent', and take both from its by_respondent"
            )
    mean = [divide(np.tensordot(scores, x.counts, 1), x.counts.sum(axis=0)) for x in (one, other)]
    cells = mean[0] - mean[1]
    there = ~np.isnan(cells)
    kept = there.any(axis=1)
    if not kept.any():
        return Difference("nothing_shared")
    weight = there[kept] / there[kept].sum(axis=1, keepdims=True) / kept.sum()
    weight, cells = weight[:, there.any(axis=0)], np.nan_to_num(cells[kept][:, there.any(axis=0)])
    value, n = float((weight * cells).sum()), weight.shape[1]
    if n < FEWEST:
        return Difference("one_wording", int(kept.sum()), n, value)
    # What each wording adds, about the items' means weighted as its items are.
    of_wording = (weight * (cells - value)).sum(axis=0)
    _, low, high = interval(value, n / (n - 1) * (of_wording**2).sum(), n - 1.0)
    return Difference("ok", int(kept.sum()), n, value, float(low), float(high))
