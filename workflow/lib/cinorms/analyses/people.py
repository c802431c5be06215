"""Kinds on people and models: how far apart they are, what a few people say about all flows, the plan of a survey."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import CORRECTED, WHO, usual
from cinorms.analyses.options import Sliced
from cinorms.analyses.shared import (
    EntryPlace,
    Frames,
    check_same_flows,
    corrected,
    for_each_model,
    named,
    stack,
)
from cinorms.core.schema import LeftOut, Number
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfArms, OfFlows
from cinorms.norms.assessment import divide, level_matrix
from cinorms.stats import budget
from cinorms.stats.assisted import MAY_HAVE_SEEN, estimate_flows, slices
from cinorms.stats.ceilings import correlation, distances, flow_differences
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import template_numbers, template_sums

#: The baseline that is no people: the expected values of the models' dataset.
EXPECTED = "expected"
#: A flow differs where its p-value, corrected for all flows of the table (Benjamini-Hochberg), is below this.
DIFFERS_BELOW = 0.05

Floats = npt.NDArray[np.float64]


class PeopleOptions(OfFlows):
    """Options of comparisons of models with people."""

    people: LeftOut[Names] = None
    """The arms of people (source: human) among the entry's arms; the other arms are compared with each of them. Flows
    are matched by their number, so a dataset other than the models' must tell the same flows. Default: none."""
    with_expected: bool = True
    """Whether to compare with the expected values of the models' dataset too, if it has any."""

    def check(self, place: EntryPlace) -> None:
        """Look up the arms of people."""
        super().check(place)
        people = self.people or ()
        place.check_people(people, self.arms)
        place.check_same_flows("arms", [arm for arm in self.arms if arm not in people], people)


class AssistedOptions(PeopleOptions):
    """Options of what people say on average, with a model's help."""

    seen: LeftOut[Literal["possible", "no"]] = None
    """Whether the models may have seen the ratings, which may be published. possible: no estimate rests on a model's
    answers (people alone, and factors, remain). Default: not stated; then estimates are made, and hold only if the
    models did not see the ratings."""


class SliceOptions(Sliced, AssistedOptions):
    """Options of people's means over all flows and over slices."""

    by: LeftOut[Names] = None
    """Factors of the dataset: a mean for each of their levels. Default: none."""


class EstimateOptions(AssistedOptions):
    """Options of people's mean for every flow."""

    factors: LeftOut[Names] = None
    """Factors of the dataset that predict people's means beside the model's answers, each level for itself. Default:
    none."""

    def check(self, place: EntryPlace) -> None:
        """Look up the factors."""
        super().check(place)
        for arm in self.arms:
            known = place.study.factors_of(arm).factors
            place.check_names("factors", self.factors or (), known, f"factor of arm {arm!r}")


class SurveyOptions(OfArms):
    """Options of a plan of a survey, from the ratings of another one."""

    raters: tuple[Annotated[int, Field(ge=2, le=1_000_000)], ...] = Field(
        (20, 50, 100, 200, 400), description="Numbers of raters to plan for.", min_length=1
    )
    per_rater: tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...] = Field((10, 30), min_length=1)
    """Flows that each rater rates."""
    flows: LeftOut[int] = Field(None, ge=2, le=10_000_000)
    """Flows of the planned survey; default: those of the dataset."""
    levels: int = Field(2, ge=2, le=1_000)
    """Levels of the factor whose levels are to be compared."""
    error: LeftOut[Number] = Field(None, gt=0, le=1_000)
    """Wanted standard error, in the dataset's units: adds the raters it needs. Default: none."""


class RatingGroup(NamedTuple):
    """People of an arm, or a model: the flows, and the answers in the units of the dataset."""

    arm: str
    model: str
    flows: npt.NDArray[np.int64]
    sample: Sample

    def at(self, flows: npt.NDArray[np.int64]) -> Sample:
        """Return the sample of these flows, in this order; empty rows where there are no answers."""
        place = pd.Index(self.flows).get_indexer(pd.Index(flows))
        there = (place >= 0)[:, None]
        cells, counts = np.where(there, self.sample.cells[place], np.nan), self.sample.counts
        counts = None if counts is None else np.where(there, counts[place], 0.0)
        return Sample(cells, counts, self.sample.exact)


#: What names the rows of a comparison, a model, and the people or the baseline that it is compared with.
Compared: TypeAlias = Iterator[tuple[dict[str, str], RatingGroup, RatingGroup]]


def in_units(entry: Entry[OfArms], arm: str) -> Callable[[Floats], Floats]:
    """Return what turns levels of an arm's scale into the units of its dataset, which its ``expected_range`` states."""
    levels = entry.scales[arm].levels
    low, high = entry.factors_of[arm].expected_range or (levels[0], levels[-1])
    return lambda x: low + (x - levels[0]) * ((high - low) / (levels[-1] - levels[0]))


def group_of(one: Selected, entry: Entry[OfFlows], prompts: Frames) -> RatingGroup:
    """Return the answers of a model by template, or of people by rater."""
    levels = level_matrix(one.frame).sort_index()
    sums, counts = template_sums(levels, template_numbers(prompts[one.arm]))
    sample = Sample(in_units(entry, one.arm)(divide(sums, counts)), counts.astype(np.float64))
    return RatingGroup(one.arm, one.model, levels.index.to_numpy(dtype=np.int64), sample)


def _with_baselines(
    selected: Sequence[Selected], entry: Entry[PeopleOptions], vignettes: Frames, prompts: Frames
) -> Compared:
    """Yield every model with each baseline: the expected values of its dataset, and people."""
    groups = [group_of(one, entry, prompts) for one in selected]
    rated = entry.options.people or ()
    for model in (group for group in groups if group.arm not in rated):
        who = {"arm": model.arm, "model": model.model}
        stated = vignettes[model.arm]
        expected = stated["expected"].to_numpy(dtype=np.float64, na_value=np.nan)
        if entry.options.with_expected and not np.isnan(expected).all():
            flows = stated["flow"].to_numpy(dtype=np.int64)
            given = RatingGroup(model.arm, EXPECTED, flows, Sample.given(expected))
            yield who | {"baseline": EXPECTED}, model, given
        for people in (group for group in groups if group.arm in rated):
            check_same_flows(entry, vignettes, model.arm, people.arm)
            yield who | {"baseline": people.arm}, model, people


def _with_people(
    selected: Sequence[Selected], entry: Entry[PeopleOptions], vignettes: Frames, prompts: Frames
) -> Compared:
    """Yield every model with the people whom it is to assist; without people among the arms, with the first group."""
    groups = [group_of(one, entry, prompts) for one in selected]
    rated = entry.options.people
    for people in groups if rated else groups[:1]:
        for model in groups:
            if not rated or (people.arm in rated and model.arm not in rated):
                check_same_flows(entry, vignettes, model.arm, people.arm)
                yield {"arm": model.arm, "model": model.model, "people": people.arm}, model, people


def _or_no_flows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table, or one row that says that there are no flows."""
    return table if len(table) else table.reindex([0]).assign(status="no_flows")


def people_distances(
    selected: Sequence[Selected], entry: Entry[PeopleOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return every distance of each model from each baseline; see `KINDS` for the columns."""
    compared = _with_baselines(selected, entry, vignettes, prompts)
    parts = [named(distances(model.sample, base.at(model.flows)), who) for who, model, base in compared]
    table = stack(parts, entry.declared.columns)
    if not parts:
        return table
    sizes = table.assign(size=table["observed"].abs())
    nearest = sizes.groupby(["arm", "baseline", "metric"], sort=False)["size"].rank(method="min")
    return table.assign(nearest=nearest.astype("Int64"))


def people_correlations(
    selected: Sequence[Selected], entry: Entry[PeopleOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return Pearson's r of each model with each baseline; see `KINDS` for the columns."""
    rows = [
        {**who, **correlation(model.sample, base.at(model.flows))}
        for who, model, base in _with_baselines(selected, entry, vignettes, prompts)
    ]
    return pd.DataFrame(rows, columns=list(entry.declared.columns))


def people_flows(
    selected: Sequence[Selected], entry: Entry[PeopleOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return where each model differs from each baseline beyond noise; see `KINDS` for the columns."""
    parts = []
    for who, model, base in _with_baselines(selected, entry, vignettes, prompts):
        table = flow_differences(model.sample, base.at(model.flows)).assign(flow=model.flows)
        table = table.rename(columns={"people": "people_mean", "model": "model_mean"})
        parts.append(named(_or_no_flows(table), who))
    if not parts:
        return stack([], entry.declared.columns)
    table = corrected(stack(parts))
    side = np.where(table["difference"] > 0, "model higher", "model lower")
    verdict = np.where(table["p_bh"] < DIFFERS_BELOW, side, "no difference shown")
    return table.assign(verdict=np.where(table["status"] == "ok", verdict, "not tested"))


def people_estimates(
    selected: Sequence[Selected], entry: Entry[EstimateOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return people's mean for every flow, rated or not; see `KINDS` for the columns."""
    parts, factors = [], list(entry.options.factors or ())
    for who, model, people in _with_people(selected, entry, vignettes, prompts):
        stated = vignettes[model.arm].set_index("flow").loc[model.flows, factors].astype(str)
        levels = pd.get_dummies(stated, drop_first=True, dtype=np.float64) if factors else stated
        of_model, of_factors = model.sample.means[:, None], levels.to_numpy(dtype=np.float64)
        seen = entry.options.seen == "possible"
        predictors = of_factors if seen and factors else np.hstack([of_model, of_factors])
        table = estimate_flows(people.at(model.flows), predictors).assign(flow=model.flows)
        if seen and not factors:
            table.loc[:, ~table.columns.isin(("flow", "direct", "n_raters", "status"))] = np.nan
            table["status"] = MAY_HAVE_SEEN
        parts.append(named(_or_no_flows(table), who))
    return stack(parts, entry.declared.columns)


def people_slices(
    selected: Sequence[Selected], entry: Entry[SliceOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return people's mean over all flows and over slices, assisted by a model; see `KINDS` for the columns."""
    by = entry.options.by or ()
    parts = []
    for who, model, people in _with_people(selected, entry, vignettes, prompts):
        answers = pd.DataFrame({"flow": model.flows, "model": model.sample.means})
        flows = vignettes[model.arm][["flow", *by]].merge(answers, on="flow")
        place, rater = np.nonzero(~np.isnan(people.sample.cells))
        rating = people.sample.cells[place, rater]
        ratings = pd.DataFrame({"flow": people.flows[place], "rater": rater, "rating": rating})
        parts.append(named(_or_no_flows(slices(flows, ratings, by, entry.options.seen == "possible")), who))
    return stack(parts, entry.declared.columns)


@for_each_model
def survey_plan(one: Selected, entry: Entry[SurveyOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return the standard errors that surveys of so many raters would have; see `KINDS` for the columns."""
    options = entry.options
    levels = level_matrix(one.frame)
    flows = options.flows or len(levels)
    in_points = in_units(entry, one.arm)(levels.to_numpy())
    values = pd.DataFrame(in_points, index=levels.index, columns=levels.columns)
    parts = budget.survey_variances(values, template_numbers(prompts))
    table = budget.survey_designs(parts, options.raters, options.per_rater, flows, options.levels)
    others = [name for name in table if name not in budget.TARGETS]
    table = table.melt(others, var_name="target", value_name="std_err")
    wanted = [
        budget.raters_needed(parts, target, options.error, per_rater, flows, options.levels)
        if options.error
        else None
        for target, per_rater in zip(table["target"], table["per_rater"], strict=True)
    ]
    spreads = {f"{part}_sd": getattr(parts, part) ** 0.5 for part in ("flow", "rater", "rest")}
    about = table["target"].map(budget.TARGETS)
    return table.assign(about=about, needed=pd.array(wanted, dtype="Int64"), **spreads)


_BASELINE = "The arm of people, or expected: the expected values of the dataset."
_N_RATERS = "Raters; 0 for expected values, which nobody drew."
_N_TEMPLATES = "Templates with a valid answer."
_FLOWS = {
    **WHO,
    "baseline": _BASELINE,
    "flow": "Number of the flow.",
    "people_mean": "Mean of the ratings, or the expected value, in the dataset's units.",
    "model_mean": "Mean of the model's valid answers.",
    "difference": "model_mean less people_mean: above 0 where the model answers higher.",
    **usual("std_err", "conf_low", "conf_high", "statistic", "p", "log10_p", "p_text"),
    **CORRECTED,
    "n_raters": _N_RATERS,
    "n_templates": _N_TEMPLATES,
    "verdict": "model higher, model lower (p_bh below 0.05), no difference shown, or not tested.",
    **usual("status"),
}
_PEOPLE = "The arm of people."

KINDS = (
    Kind(
        name="people_distances",
        about="How far each model is from people, with intervals over raters and wordings, and how close another group "
        "of people would come.",
        function=people_distances,
        reads="answers",
        report_section="delta",
        key=("arm", "model", "baseline", "metric"),
        columns={
            **WHO,
            "baseline": _BASELINE,
            "metric": "mean_signed (model less people), mean_absolute, std_signed (its spread over flows) "
            "or rms (root of the mean square).",
            "observed": "The distance between the means as they are, in the dataset's units.",
            "estimate": "The distance between all such people and all such wordings: without the noise of "
            "raters and templates, except for mean_absolute.",
            "conf_low": "Lower end of the 95% interval of the estimate, over raters and templates.",
            "conf_high": "Upper end of the 95% interval of the estimate, over raters and templates.",
            "ceiling": "How far the means of another group of as many people would be from those of these people.",
            "ceiling_all": "How far they would be from all such people, on the scale of estimate.",
            "verdict": "farther or nearer than another group of as many people would be to all such people; "
            "undecided; no_verdict.",
            "n_flows": "Flows with a mean on both sides.",
            "n_raters": _N_RATERS,
            "n_templates": _N_TEMPLATES,
            "nearest": "Rank among the arm's models by the size of observed; 1 is the nearest.",
            **usual("status"),
        },
        shown=(
            *("model", "baseline", "metric", "observed", "estimate", "conf_low", "conf_high"),
            *("ceiling", "verdict"),
        ),
    ),
    Kind(
        name="people_correlations",
        about="Pearson's r of each model with people over flows, and the largest r that the noise of both allows.",
        function=people_correlations,
        reads="answers",
        report_section="delta",
        key=("arm", "model", "baseline"),
        columns={
            **WHO,
            "baseline": _BASELINE,
            "estimate": "Pearson's r of the means of the model and of people, over flows.",
            "conf_low": "Lower end of the 95% interval, over flows.",
            "conf_high": "Upper end of the 95% interval, over flows.",
            "ceiling": "The r of such means if all people and all wordings gave the same: the root of both "
            "reliabilities; missing where one is.",
            "reliability_model": "Share of the variance of the model's means that is not the noise of wordings.",
            "reliability_people": "Share of the variance of people's means that is not the noise of raters; 1 for "
            "expected values.",
            "n_flows": "Flows with a mean on both sides.",
            **usual("status"),
        },
    ),
    Kind(
        name="people_flows",
        about="On which flows each model and people differ beyond the noise of raters and wordings.",
        function=people_flows,
        reads="answers",
        report_section="delta",
        key=("arm", "model", "baseline", "flow"),
        columns=_FLOWS,
        shown=(
            *("model", "baseline", "flow", "people_mean", "model_mean", "difference", "std_err"),
            *("conf_low", "p_bh", "verdict"),
        ),
    ),
    Kind(
        name="people_estimates",
        about="People's mean for every flow, from a few ratings and a model's answers to all flows. It is wrong, and "
        "its interval does not show it, if the model saw these ratings: then state seen: possible.",
        function=people_estimates,
        reads="answers",
        report_section="delta",
        key=("arm", "model", "people", "flow"),
        columns={
            **WHO,
            "people": _PEOPLE,
            "flow": "Number of the flow.",
            "direct": "Mean of the flow's own ratings, in the dataset's units; missing without any.",
            "n_raters": "Raters.",
            "predicted": "What the model's mean answer predicts, by the line that fits the rated flows best.",
            "estimate": "The direct mean drawn towards the prediction, the more so the noisier it is. Without factors "
            "none with seen: possible.",
            **usual("std_err"),
            "conf_low": "Lower end of the 95% interval; it holds on average over flows.",
            "conf_high": "Upper end of the 95% interval; it holds on average over flows.",
            "weight": "Weight of the flow's own ratings, 0 to 1.",
            "n_effective": "Raters whose direct mean would have the same standard error.",
            **usual("status"),
            "explained": "Share of the variance between flows that the model explains.",
        },
    ),
    Kind(
        name="people_slices",
        about="People's mean over all flows and over slices, from a few ratings and a model's answers to all flows "
        "(prediction-powered inference). It is wrong, and its interval does not show it, if the model saw these "
        "ratings: then state seen: possible.",
        function=people_slices,
        reads="answers",
        report_section="delta",
        key=("arm", "model", "people", "factor", "level"),
        columns={
            **WHO,
            "people": _PEOPLE,
            **usual("factor", "level"),
            "n_flows": "Flows with a mean answer of the model.",
            "plain": "Mean of the ratings alone, in the dataset's units.",
            "plain_low": "Lower end of its 95% interval, over raters and flows.",
            "plain_high": "Upper end of its 95% interval, over raters and flows.",
            "estimate": "Mean of people over all flows of the slice, assisted by the model; none with seen: "
            "possible.",
            **usual("std_err", "conf_low", "conf_high"),
            "weight": "Weight of the model's answers: 0 where they say nothing about people's.",
            "n_ratings": "Ratings.",
            "n_raters": "Raters.",
            "n_effective": "Ratings that would give the same standard error without the model.",
            **usual("status"),
        },
    ),
    Kind(
        name="survey_plan",
        about="How precise a survey of so many raters and flows would be, from the variances of these ratings.",
        function=survey_plan,
        reads="answers",
        report_section="reliability",
        key=("arm", "model", "raters", "per_rater", "target"),
        columns={
            **WHO,
            "raters": "Raters.",
            "per_rater": "Flows that each rater rates.",
            "ratings": "Ratings in all.",
            "raters_per_flow": "Raters of a flow, on average.",
            "target": "What the survey is about: flow, overall, level or group.",
            "about": "The target in words.",
            "std_err": "Standard error of the target, in the dataset's units.",
            "needed": "Raters that give the target the wanted error, each rating per_rater flows; missing "
            "without one.",
            "flow_sd": "Standard deviation of people's norms over flows.",
            "rater_sd": "Standard deviation of how strict raters are everywhere.",
            "rest_sd": "Standard deviation of the rest of a rating.",
            **usual("status"),
        },
    ),
)
