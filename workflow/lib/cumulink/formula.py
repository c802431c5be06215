"""Formulas as R and patsy write them, as far as the models go: names of columns and random intercepts."""

import re
from typing import NamedTuple

from cumulink.errors import ModelError

_NAME = r"(`[^`]+`|[^\W\d][\w.]*)"
_OUTCOME = re.compile(rf"\s*{_NAME}\s*~")
_TERM = re.compile(rf"\s*(?:\(\s*1\s*\|\s*{_NAME}\s*\)|C\(\s*{_NAME}\s*\)|{_NAME})\s*(\+|$)")
_EXAMPLE = "rating ~ roast + C(year) + `brew time` + (1 | judge)"


class Formula(NamedTuple):
    """A formula and the columns that it names; ``categorical`` are the factors in ``C(...)``."""

    text: str
    outcome: str
    factors: list[str]
    categorical: frozenset[str]
    groups: tuple[str, ...]


def parse(formula: str) -> Formula:
    """Return the columns of ``outcome ~ factor + C(number) + (1 | group)``; backticks quote any name."""
    start = _OUTCOME.match(formula)
    if start is None:
        raise ModelError(f"formula {formula!r} does not begin with a column and ~, as in {_EXAMPLE!r}")
    groups, categorical, factors = list[str](), list[str](), list[str]()
    at, more = start.end(), "+"
    while more:
        term = _TERM.match(formula, at)
        if term is None:
            raise ModelError(
                f"formula {formula!r}: cannot read {formula[at:].strip()!r}; join columns by +, as in {_EXAMPLE!r} "
                "(no interactions: combine two columns into one)"
            )
        group, number, plain, more = term.groups()
        if group:
            groups.append(group.strip("`"))
        else:
            factors.append((number or plain).strip("`"))
            categorical += factors[-1:] if number else []
        at = term.end()
    for names, kind in ((factors, "factors"), (groups, "random intercepts")):
        if len(set(names)) != len(names):
            raise ModelError(f"formula {formula!r}: {kind} are named twice: {names}; name each once")
    if not factors:
        raise ModelError(f"formula {formula!r} has no factor; name at least one column of levels")
    return Formula(formula, start[1].strip("`"), factors, frozenset(categorical), tuple(groups))
