"""Kinds on what the factors do, by the design alone: marginal means, and each factor's part of the variance."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.columns import INTERVAL, WHO, usual
from cinorms.analyses.options import Factors
from cinorms.analyses.shared import (
    Frames,
    add_factors,
    alike_words,
    answers_by_factor,
    factors_of,
    for_each_model,
    marked_alike,
    named,
    stack,
)
from cinorms.core.arrays import Ints
from cinorms.core.scales import Scale
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows
from cinorms.norms.assessment import level_matrix
from cinorms.stats import marginal_means
from cinorms.stats.acceptance import ENOUGH, acceptance, by_model, over_models
from cinorms.stats.components import TOGETHER, by_source, components
from cinorms.stats.say_do import ALL_FLOWS
from cinorms.stats.wordings import template_numbers
from cinorms.vignettes.factors import JOINT
from cumulink import group_rows


class MeansOptions(Factors, OfFlows):
    """Options of marginal means."""


@for_each_model
def level_means(
    one: Selected, entry: Entry[MeansOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return the marginal mean of every level, per model: `marginal_means.marginal_means`."""
    dataset = entry.factors_of[one.arm]
    # The factors named and those linked with them, or all that vary; and one whose only level has all flows.
    asked = {part for name in factors_of(entry, one.arm, vignettes) for part in name.split(JOINT)}
    linked = {name for group in dataset.linked if asked & set(group) for name in group}
    factors = [name for name in dataset.factors if name in asked | linked]
    values = answers_by_factor(one.frame, vignettes, prompts, factors)
    values[ALL_FLOWS] = pd.Categorical.from_codes(np.zeros(len(values), dtype=int), pd.Index([ALL_FLOWS]))
    if values.empty:
        texts = usual("factor", "level")
        row = {name: None if name in texts else np.nan for name in entry.declared.columns if name not in WHO}
        return pd.DataFrame([row | {"status": "no_flows", "reason": "no flow has the selected levels"}])
    names, scale = [ALL_FLOWS, *factors], entry.scales[one.arm]
    table = marginal_means.marginal_means(values, names, dataset.linked)
    accepted = _accepted(values, [tuple(name.split(JOINT)) for name in table["factor"].unique()], scale)
    table = table.merge(accepted, on=["factor", "level"], validate="one_to_one")
    return marked_alike(table, [alike_words(one.frame, prompts, scale)])


def _accepted(values: pd.DataFrame, groups: Sequence[tuple[str, ...]], scale: Scale) -> pd.DataFrame:
    """Return `acceptance` at every level of ``groups`` of linked factors."""
    template, level = _codes(values["template"]), values["value"].to_numpy(np.float64)
    accepts = np.array([*scale.binned.sides, 0])[scale.places(level)] > 0  # the last: no answer
    parts = []
    for names in groups:
        first, code = group_rows([_codes(values[name]) for name in names])
        texts = values.iloc[first][[*names]].astype(str).agg(JOINT.join, axis=1).to_numpy()
        found = acceptance(code, template, ~np.isnan(level), accepts)
        parts.append(named(found.assign(level=texts), {"factor": JOINT.join(names)}))
    return stack(parts)


def _codes(column: "pd.Series[Any]") -> Ints:
    return np.asarray(column.cat.codes, dtype=np.int64)


class ComponentsOptions(Factors, OfFlows):
    """Options of the variance components."""


@for_each_model
def variance_components(
    one: Selected, entry: Entry[ComponentsOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return, per model, what each factor, template and single answer bring to the variance of the answers."""
    levels = level_matrix(one.frame)
    rows = pd.DataFrame({"flow": levels.index.to_numpy()})
    factors = factors_of(entry, one.arm, vignettes)
    of_flow = add_factors(rows, vignettes, factors)
    codes = {
        name: np.unique(of_flow[name].astype(str), return_inverse=True)[1] for name in factors if len(of_flow)
    }
    return components(levels, template_numbers(prompts), codes).assign(flows=len(levels))


# --- What decides


class FindingOptions(MeansOptions):
    """Options of the finding."""


def finding(
    selected: Sequence[Selected], entry: Entry[FindingOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return, per arm, the factor that decides most, and its levels that are accepted most and least."""
    means = level_means(selected, entry, vignettes=vignettes, prompts=prompts)
    shares = variance_components(selected, entry, vignettes=vignettes, prompts=prompts)
    rows = [
        _finding(means[means["arm"] == arm], shares[shares["arm"] == arm]) | {"arm": arm}
        for arm in entry.arms
    ]
    return pd.DataFrame(rows).reindex(columns=list(entry.declared.columns))


def _finding(means: pd.DataFrame, shares: pd.DataFrame) -> dict[str, Any]:
    """Return the row of an arm: its marginal means and variance components, of all models."""
    known = by_model(means) if "answers" in means else pd.DataFrame()
    if known.empty:
        return {"models": 0, "status": "no_answers"}
    whole = known[ALL_FLOWS][ALL_FLOWS].dropna()
    row: dict[str, Any] = {"models": len(whole)} | _over_models("accepts", whole)
    if TOGETHER not in set(shares["source"]):
        return row | {"status": "not_crossed"}
    shares = by_source(shares, known.index)
    factors = shares[[name for name in dict.fromkeys(known.columns.get_level_values(0)) if name in shares]]
    if factors.empty:
        return row | {"status": "no_variance"}
    first, together = factors.mean().idxmax(), shares.get(TOGETHER, shares[factors.columns[0]] * 0).mean()
    row |= {"factor": first} | _over_models("share", factors[first])
    row |= {"factors": factors.sum(axis=1).mean(), "combinations": together}
    row["rest"] = 1 - row["factors"] - row["combinations"]
    accepts = known[first].dropna()
    if accepts.empty:
        return row | {"status": "no_answers"}
    low, high = (
        by_model(means, f"accepts_{end}").reindex(columns=known.columns)[first] for end in ("low", "high")
    )
    ends = over_models(known).xs(first)
    most, least = str(ends.idxmax()), str(ends.idxmin())
    for end, level in (("most", most), ("least", least)):
        row |= {f"{end}_level": level} | _over_models(end, accepts[level])
    gap = (low[most] - high[least]).reindex(accepts.index)
    row |= {"models": len(accepts), "apart": int((gap > 0).sum())}
    if not row["share"] > together:
        return row | {"status": "combinations"}
    if gap.isna().all():
        return row | {"status": "no_interval"}
    return row | {"status": "ok" if row["apart"] > row["models"] / 2 else "not_apart"}


def _over_models(name: str, values: "pd.Series[float]") -> dict[str, float]:
    """Return the mean over models and the range."""
    return {name: values.mean(), f"{name}_from": values.min(), f"{name}_to": values.max()}


def _of_models(name: str, about: str) -> dict[str, str]:
    """Return the columns of `_over_models`."""
    return {
        name: f"{about}, mean over models.",
        f"{name}_from": "The lowest.",
        f"{name}_to": "The highest.",
    }


KINDS = (
    Kind(
        name="variance_components",
        about="What decides the answers: the share of their variance from each factor, from what factors do together, "
        "from the wording, and from the single answer.",
        function=variance_components,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "source"),
        columns={
            **WHO,
            "source": f"Name of the factor; {TOGETHER}; flow (in place of these, where not every combination of levels "
            "is asked); template; flow x template; order and single answer.",
            "variance": "Variance of its effects, in levels squared; below 0 by chance.",
            "share": "Share of the variance of the answers in this design: a factor of L levels, which are all there "
            "are, counts (L - 1) / L of its variance; a negative variance counts as 0.",
            "flows": "Flows that were asked.",
            "status": "ok; negative; incomplete (flows without an answer were filled in with what their levels do "
            "elsewhere); not_crossed (a combination of levels is missing); or why there is no number.",
        },
        always=True,
    ),
    Kind(
        name="finding",
        about="What decides most, and what is accepted most and least: what a headline may state.",
        function=finding,
        reads="answers",
        report_section="factors",
        key=("arm",),
        columns={
            **usual("arm"),
            "models": f"Models with {ENOUGH} readable answers at each of these levels; all means are over these.",
            **_of_models("accepts", "Share of the readable answers that accept, all flows"),
            "factor": "The factor with the largest share of the variance; named on pages where status is ok.",
            **_of_models("share", "Its share of the variance of the answers (variance_components)"),
            "factors": "Share of all factors together, each alone; mean over models.",
            "combinations": "Share of combinations of factors, beyond what each does alone; mean over models.",
            "rest": "Share of wordings, orders and single answers; mean over models.",
            "most_level": "Level of the factor with most acceptance, by the mean over models.",
            **_of_models("most", "Share of the readable answers that accept there"),
            "least_level": "Level with least acceptance.",
            **_of_models("least", "Share of the readable answers that accept there"),
            "apart": "Models whose intervals over wordings of the two shares do not overlap.",
            "status": "ok; combinations (no factor has more than the combinations of factors); not_apart (their "
            "intervals overlap for half of the models or more); no_interval (one wording); not_crossed (a combination "
            "of levels is missing, or no factor varies); no_variance; no_answers (too few).",
        },
        always=True,
    ),
    Kind(
        name="marginal_means",
        about="The mean answer at each level of each factor, averaged evenly over the design (no regression model).",
        function=level_means,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns={
            **usual("arm", "model"),
            "factor": f"Name of the factor; linked factors have their names joined; {ALL_FLOWS}.",
            **usual("level"),
            "n": "Combinations of the other factors in which the level has a value.",
            "n_missing": "Combinations of the other factors in which the level has no value.",
            "templates": "Wordings in which the level has a value.",
            "mean": "Mean level of the scale over these combinations, each counted once.",
            **INTERVAL,
            "asked": "Answers asked for.",
            "answers": "Answers that could be read.",
            "accepts": "Share of these that accept: that have one of the upper levels.",
            "accepts_low": "Lower end of its 95% interval over other wordings.",
            "accepts_high": "Upper end of that interval.",
            "status": "ok; incomplete if a combination of the other factors or a wording is missing; alike_templates "
            "if the wordings are too alike for the interval to hold; or why there is no number.",
            **usual("reason"),
        },
        shown=(*WHO, "factor", "level", "n", "mean", *INTERVAL, "accepts", "status"),
        always=True,
    ),
)
