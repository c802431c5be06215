"""Words that tables, figures and pages share: marks, shares, and the names of models and of flows without a norm."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # scales use this module where PEGASUS paraphrases, without pandas
    import pandas as pd

#: The mark of every table, figure and page that only shows planted respondents; see `planted_mark` for others.
PLANTED_MARK = "Simulated respondents: no model gave their answers."
#: The mark of every table, figure and page that only shows ratings by people.
PEOPLE_MARK = "Ratings by people: no model gave these answers."
#: The mark of what only shows ratings that a script made, and planted respondents next to them.
SIMULATED_MARK = "Simulated ratings: no people and no model gave these answers."
#: Value of the column ``model`` or ``arm`` for a regression over several of them.
POOLED = "pooled"
#: A flow on which the model holds no norm, and why.
NO_NORM = "no norm"
#: Columns of tables that hold the names of models.
MODEL_COLUMNS = ["model", "model_a", "model_b", "said_by"]
#: Why an answer has no level.
STATUS_LABELS = {
    "refusal": "refusal",
    "needs_context": "asks for context",
    "nonsense": "nonsense",
    "ambiguous": "ambiguous",
    "empty": "empty",
    "truncated": "cut off",
    "error": "endpoint error",
    "invalid": "invalid (reason not published)",
    "conditional": "verdicts by condition",
    "trace_cut": "reasoning cut short",
    "not_a_rating": "no rating",
}
#: Why a flow has no norm.
NORM_LABELS = {"below_t_val": "too few valid answers", "no_majority": "no majority", "tie": "a tie"}


class VariantWords(NamedTuple):
    """What the variants of an arm differ in: several of them, and one before its number."""

    many: str
    numbered: str


#: Models answer in the wordings of a prompt set, its templates; of people, raters take their place.
WORDINGS = VariantWords("wordings", "Wording")
RATERS = VariantWords("raters", "Rater")


def variant_words(people: bool) -> VariantWords:
    """Return the words for the variants of an arm, of people or of models."""
    return RATERS if people else WORDINGS


def share(part: float, whole: float) -> str:
    """Return a share in per cent; only exactly none or all is shown as 0% or 100%."""
    if not whole:
        return "none"
    value = 100 * part / whole
    if 0 < value < 1 or 99 < value < 100:
        return "under 1%" if value < 1 else "over 99%"
    return f"{value:.0f}%"


def share_in_cell(part: float) -> str:
    """Return `share` with signs in place of words, for a cell or a bar."""
    return share(part, 1).replace("under ", "<").replace("over ", ">")


def percent(part: float, decimals: int | None = None) -> str:
    """Return a share in per cent: as it is stated (a setting, a tick of an axis), or measured, with ``decimals``.

    For a number next to its limit, and a difference of shares, of which `share` would hide digits.
    """
    if math.isnan(part):
        return "none"
    return f"{100 * part:.6g}%" if decimals is None else f"{100 * part:.{decimals}f}%"


def origin_mark(
    planted: Iterable[str], shown: Iterable[str], people: Iterable[str] = (), unreal: bool = False
) -> str:
    """Return what a table, figure or page must state about whose answers it shows: see `planted_mark`.

    People come first, with their names; where only people are shown, the mark says so. ``unreal`` people are simulated.
    """
    names, rated = list(shown), list(dict.fromkeys(people))
    others = [name for name in names if name not in rated]
    if not rated:
        return planted_mark(planted, names)
    simulated = set(others) <= set(planted)
    if unreal and simulated:
        return SIMULATED_MARK
    if not others:
        return PEOPLE_MARK
    if simulated:
        rest = "The others are simulated respondents: no model gave their answers."
    else:
        rest = planted_mark(planted, others) or "The others are models."
    by = "Simulated ratings, not by real people" if unreal else "Rated by people, not by a model"
    return f"{by}: {listed(rated)}. {rest}"


def planted_mark(planted: Iterable[str], shown: Iterable[str]) -> str:
    """Return what a table, figure or page must state about the ``planted`` respondents among those ``shown``.

    Empty if it shows none; with their names if it shows models too.
    """
    names = list(dict.fromkeys(planted))
    if not names or set(shown) <= set(names):
        return PLANTED_MARK if names else ""
    return f"Simulated respondents (no model gave their answers): {', '.join(names)}. The others are models."


#: Why models that were asked in different numbers of wordings are not compared.
NOT_COMPARABLE = "how many flows have a norm depends on that number, so do not compare these shares"


def listed(names: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


#: How a sentence names a model in one of several arms.
IN_ARM = "{model} in {arm}"


def model_labels(pairs: Iterable[tuple[str, str]], form: str = "{model}, {arm}") -> list[str]:
    """Return a label for each (arm, model): the model, in the given form with its arm where there are several."""
    pairs = list(pairs)
    several = len({arm for arm, _ in pairs}) > 1
    return [form.format(model=model, arm=arm) if several else model for arm, model in pairs]


def alone(labels: Mapping[str, str]) -> dict[str, str]:
    """Return those of the ``labels`` (by model) that name one model only: another's would mix up two models."""
    taken = [*labels.values(), *labels]
    return {model: label for model, label in labels.items() if taken.count(label) == 1}


def shared_words(labels: Collection[str]) -> str:
    """Return the words with which all of several labels begin, and the space after them; empty where there are none."""
    first, *others = [label.split() for label in labels] or [[]]
    n = 0
    while others and all(len(words) > n + 1 and words[n] == first[n] for words in (first, *others)):
        n += 1
    return "".join(f"{word} " for word in first[:n])


def relabelled(table: "pd.DataFrame", labels: Mapping[str, str]) -> "pd.DataFrame":
    """Return ``table`` with the labels of models in place of their names, in the columns that hold models."""
    held = table.columns.intersection(MODEL_COLUMNS)
    called = {column: table[column].map(lambda name: labels.get(name, name)) for column in held}
    return table.assign(**called)
