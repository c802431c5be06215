"""What the kinds of analyses share: the flows selected, the norms held, factors as columns, one table out of many."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

import cumulink
from cinorms.core.errors import ConfigError, DataError
from cinorms.core.labels import listed
from cinorms.core.scales import Scale
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.kind import PER_MODEL
from cinorms.norms.assessment import level_matrix, valid_levels
from cinorms.stats import pvalues
from cinorms.stats.wordings import ALIKE_TEMPLATES, level_counts, look_up, template_numbers
from cinorms.vignettes.factors import JOINT, DatasetFactors, default_factors, other_flows
from rewordings import worth_of

#: The vignettes, or the prompts, of each arm.
Frames: TypeAlias = Mapping[str, pd.DataFrame]
Table: TypeAlias = Callable[..., pd.DataFrame]


def for_each_model(make: Table) -> Table:
    """Make a kind's function of one that makes the rows of one model in one arm; they get both names in front.

    ``make`` takes one of the selected tables, the entry, and of what the kind reads besides, by name, the arm's or the
    model's own: None where a model has none.
    """

    @wraps(make)
    def function(selected: Sequence[Selected], entry: Entry[Any], **also: Any) -> pd.DataFrame:
        parts = []
        for one in selected:
            own = dict(also)  # a file of expected values is one for all
            for name, read in also.items():
                if name in ("vignettes", "prompts"):
                    own[name] = read[one.arm]
                elif name in PER_MODEL:
                    own[name] = by_pair(read)[one.pair]
                elif name != "expected":
                    own[name] = read.get(one.pair)
            parts.append(named(make(one, entry, **own), {"arm": one.arm, "model": one.model}))
        return stack(parts)

    return function


def by_pair(selected: Iterable[Selected]) -> dict[Pair, pd.DataFrame]:
    """Return the tables by arm and model."""
    return {one.pair: one.frame for one in selected}


def named(table: pd.DataFrame, names: Mapping[str, Any]) -> pd.DataFrame:
    """Return ``table`` with a constant column for each of ``names`` in front."""
    front = pd.DataFrame({name: [value] * len(table) for name, value in names.items()}, index=table.index)
    return pd.concat([front, table], axis=1)


def stack(parts: Sequence[pd.DataFrame], columns: Iterable[str] = ()) -> pd.DataFrame:
    """Return the parts as one table; those without rows only count if all are so. ``columns`` are those of no parts."""
    if not parts:
        return pd.DataFrame(columns=list(columns))
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def fit_clm(
    frame: pd.DataFrame, outcome: str, factors: Iterable[str], **settings: Any
) -> "cumulink.ClmResult":
    """Fit an ordinal regression (`cumulink.clm`). Rows that it cannot use are an error of the data."""
    terms = " + ".join(f"C(`{factor}`)" for factor in factors)
    try:
        return cumulink.clm(f"`{outcome}` ~ {terms}", frame, **settings)
    except cumulink.CumulinkError as error:
        raise DataError(f"ordinal regression: {error}") from None


def check_same_scale(entry: Entry[Any], arms: Iterable[str]) -> None:
    """Refuse to compare or pool levels of ``arms`` that were answered on different scales."""
    scales = {entry.scales[arm].name for arm in arms}
    if len(scales) > 1:
        raise ConfigError(
            f"{entry.section}.{entry.name}: its arms are answered on different scales ({listed(sorted(scales))}), "
            "whose levels cannot be compared; use arms with one scale"
        )


def check_same_flows(entry: Entry[Any], vignettes: Frames, a: str, b: str) -> None:
    """Refuse to match the flows of two arms by their number where these are not the same flows.

    The check of the study did so already, except where only a file tells the levels.
    """
    if why := other_flows(entry.factors_of[a], entry.factors_of[b], vignettes[a], vignettes[b]):
        raise ConfigError(f"{entry.section}.{entry.name}: arms '{a}' and '{b}': {why}")


def corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its p-values corrected over all its rows, not over each part."""
    of_parts = [c for c in table.columns if c in ("p", "p_text") or str(c).endswith(pvalues.METHODS)]
    table = table.drop(columns=of_parts).astype({"log10_p": "float64"})
    return pvalues.add_columns(table, corrections=True)


def factors_of(entry: Entry[Any], arm: str, vignettes: pd.DataFrame) -> list[str]:
    """Return the factors that an analysis names, or else those of the dataset that vary."""
    return list(entry.options.factors or usual_factors(vignettes, entry.factors_of[arm]))


def usual_factors(vignettes: pd.DataFrame, dataset: DatasetFactors) -> list[str]:
    """Return the factors that an analysis takes where it names none: those of the dataset that vary."""
    factors = default_factors(dataset)
    varied = [name for name in factors if len(vignettes[name.split(JOINT)].drop_duplicates()) > 1]
    return varied or factors


def add_factors(frame: pd.DataFrame, vignettes: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return ``frame`` with a categorical column for each of the dataset's ``factors``, found by flow.

    Raises ``DataError`` for a flow that the vignettes do not have.
    """
    at = pd.Index(vignettes["flow"]).get_indexer(pd.Index(frame["flow"]))
    if (at < 0).any():
        raise DataError(
            f"flow {frame['flow'].iloc[int((at < 0).argmax())]} is not in the vignettes; delete both tables and rerun"
        )
    columns: dict[str, Any] = {}
    for name in factors:
        if name in vignettes:
            column = pd.Categorical(vignettes[name].astype("category"))
        else:
            joint = vignettes[name.split(JOINT)].astype(str).agg(JOINT.join, axis=1)
            column = pd.Categorical(joint, categories=pd.Index(joint.unique()))
        columns[name] = column.take(at)
    return frame.assign(**columns)


def answers_by_factor(
    answers: pd.DataFrame, vignettes: pd.DataFrame, prompts: pd.DataFrame, factors: Sequence[str]
) -> pd.DataFrame:
    """Return flow, template, value (missing where it is not valid) and the ``factors`` of every answer."""
    columns = {"flow": answers["flow"], "template": templates_of(answers, prompts)}
    return add_factors(pd.DataFrame(columns).assign(value=valid_levels(answers)), vignettes, factors)


def answer_variances(
    answers: pd.DataFrame,
    prompts: pd.DataFrame,
    over: Literal["variants", "templates", "orders"],
    ddof: int,
) -> "pd.Series[float]":
    """Return the variance of the valid answers to each flow; missing with fewer than two.

    ``over``: all its variants; the templates that showed one order (index: flow and order; an answer without a known
    order is left out), by the order itself, because its number means other orders in other templates; the orders of one
    template (index: flow and template). Raises ``DataError`` for a variant that is not in the prompts.
    """
    keys = [answers["flow"]]
    if over == "templates":
        keys.append(answers["order"])
    elif over == "orders":
        keys.append(pd.Series(templates_of(answers, prompts), answers.index))
    levels = pd.Series(valid_levels(answers), answers.index).groupby(keys, observed=True)
    return levels.var(ddof=ddof).where(levels.count() >= 2)


def planted_changes(coefficients: Mapping[str, Any] | None) -> Callable[[str, str, str], float] | None:
    """Return what gives the planted change of a factor from its baseline to a level; None where none is planted.

    ``coefficients`` is the file of a planted respondent. What a joint level of linked factors does is the sum of what
    its parts do.
    """
    rows = (coefficients or {}).get("coefficients", [])
    known = {(row["factor"], row["level"]): float(row["coefficient"]) for row in rows}

    def effect(factor: str, level: str) -> float:
        parts = zip(factor.split(JOINT), level.split(JOINT), strict=True)
        return sum(known.get(part, np.nan) for part in parts)

    def change(factor: str, baseline: str, level: str) -> float:
        return effect(factor, level) - effect(factor, baseline)

    return change if known else None


def alike_words(answers: pd.DataFrame, prompts: pd.DataFrame, scale: Scale) -> str:
    """Return what the wordings of a model are worth where they are too alike for intervals and tests, else nothing."""
    counts = level_counts(level_matrix(answers), template_numbers(prompts), scale)
    if counts.shape[2] < 2 or not (found := worth_of(counts)).too_alike:
        return ""
    return f"{counts.shape[2]} wordings are worth {found.effective:.1f}"


def marked_alike(
    table: pd.DataFrame, alike: Iterable[str], columns: tuple[str, str] = ("status", "reason")
) -> pd.DataFrame:
    """Return the table with a status and a reason where templates are too alike for its intervals and tests.

    ``alike`` has the `alike_words` of each model that the table is about; ``columns`` are those of status and (if any)
    reason.
    """
    if not (said := "; ".join(filter(None, alike))):
        return table
    ok = table[columns[0]] == "ok"
    reason = f"intervals and p-values do not hold: {said}, as some are alike (kind reliability)"
    words = dict(zip(columns, (ALIKE_TEMPLATES, reason), strict=True))
    return table.assign(**{name: table[name].mask(ok, word) for name, word in words.items() if name in table})


def templates_of(answers: pd.DataFrame, prompts: pd.DataFrame) -> "pd.Categorical[str]":
    """Return the template number of each answer, in the order of the numbers."""
    variant = pd.Categorical(answers["variant"].astype("category"))
    order, codes = np.unique(look_up(variant.categories, template_numbers(prompts)), return_inverse=True)
    return pd.Categorical.from_codes(codes[variant.codes], categories=pd.Index([str(int(n)) for n in order]))
