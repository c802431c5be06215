"""What figures of answers and norms show, in a sentence: what is accepted most and least, or who accepts most."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from cinorms.core.labels import share
from cinorms.core.scales import Says, Scale

#: Norms that a level needs to be named: a row or a column of a small map has as many.
ENOUGH = 5
#: Levels or models closer than this do not differ much.
APART = 0.1
#: How often something is accepted, from each share on.
OFTEN = (
    (1.0, "always"),
    (0.9, "nearly always"),
    (0.6, "mostly"),
    (0.4, "about half of the time"),
    (0.1, "seldom"),
    (1e-9, "almost never"),
    (0.0, "never"),
)
#: How a level of a factor is named where its words alone do not say what it is.
_NAMED = {"recipient": "to {}", "sender": "from {}"}


def accepts(levels: "pd.Series[Any]", scale: Scale) -> "pd.Series[float]":
    """Return 1 for each of ``levels`` on the upper side of the scale, 0 for others, and nothing for missing ones."""
    upper = [level for level, side in zip(scale.levels, scale.sides, strict=True) if side > 0]
    return levels.dropna().isin(upper).astype(float)


def how_often(part: float) -> str:
    """Return a share as an adverb."""
    return next(words for least, words in OFTEN if part >= least)


def by_model(shares: "pd.Series[float]", says: Says, what: str) -> str:
    """Return which model, of the index, accepts the largest share of ``what``, and which the smallest."""
    known = shares.dropna().sort_values(ascending=False, kind="stable")
    if known.empty:
        return ""
    often, most = says.accepted, known.iloc[0]
    if len(known) == 1:
        return _capital(f"{how_often(most)} {often} by {known.index[0]} ({share(most, 1)} of its {what})")
    least = f"least often by {known.index[-1]} ({share(known.iloc[-1], 1)})"
    if most - known.iloc[-1] < 1e-9:
        return _capital(f"{how_often(most)} {often}: in {share(most, 1)} of the {what} of each model")
    return _capital(f"{often} most often by {known.index[0]} ({share(most, 1)} of its {what}), {least}")


def by_level(
    accepted: "pd.Series[float]",
    factors: Mapping[str, "pd.Series[Any]"],
    models: "pd.Series[Any]",
    says: Says,
) -> str:
    """Return what the norms of the ``models`` accept most and least: two levels of the factor whose levels differ most.

    Where the models are further apart than the levels of any factor, it is about them. A level of fewer than `ENOUGH`
    norms is not named.
    """
    if accepted.empty:
        return ""
    best, named, gap = pd.Series(dtype=float), "{}", APART
    for name, levels in factors.items():
        groups = accepted.groupby(levels.reindex(accepted.index).astype(str), sort=False)
        means = groups.mean()[groups.size() >= ENOUGH]
        if len(means) > 1 and means.max() - means.min() > gap:
            best, named, gap = means, _NAMED.get(name, "{}"), means.max() - means.min()
    of_model = accepted.groupby(models.reindex(accepted.index).astype(str), sort=False).mean()
    if of_model.max() - of_model.min() > gap:
        return by_model(of_model, says, "norms")
    whole = accepted.mean()
    if best.empty:
        return _capital(
            f"{how_often(whole)} {says.accepted} ({share(whole, 1)} of the norms), much the same at all levels"
        )
    high, low = best.max(), best.min()
    most, least = (named.format(level) for level in (best.idxmax(), best.idxmin()))
    rarely = how_often(low) if how_often(low) != how_often(high) else "less often"
    return _capital(
        f"{how_often(high)} {says.accepted}: {most} ({share(high, 1)}); {rarely}: {least} ({share(low, 1)})"
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
