"""Kinds ``people_estimates``, ``people_slices``, ``survey_plan``: from a few people to all flows, and to a survey."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import CONF_HIGH, CONF_LOW, FACTOR, LEVEL, STATUS, STD_ERR, WHO
from cinorms.analyses.people_norms import Group, PeopleOptions, Prompts, group_of, in_units, or_no_flows
from cinorms.analyses.shared import check_same_flows, chosen_each, for_each, named, stack
from cinorms.core.schema import LeftOut, Number
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfArms, OfFlows
from cinorms.norms.assessment import level_matrix
from cinorms.stats import budget
from cinorms.stats.assisted import estimate_flows, slices
from cinorms.stats.wordings import template_numbers

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

Vignettes = Mapping[str, pd.DataFrame]


class EstimateOptions(PeopleOptions):
    """Options of estimates of people's norms from their ratings and a model's answers."""


class SliceOptions(PeopleOptions):
    """Options of people's means over all flows and over slices."""

    by: LeftOut[Names] = Field(
        None, description="Factors of the dataset: a mean for each of their levels. Default: none."
    )

    def check(self, place: EntryPlace) -> None:
        """Look up the factors of the slices."""
        for arm in self.arms:
            place.check_names(
                "by", self.by or (), place.study.factors_of(arm).factors, f"factor of arm {arm!r}"
            )
        super().check(place)


class SurveyOptions(OfArms):
    """Options of a plan of a survey, from the ratings of another one."""

    raters: tuple[Annotated[int, Field(ge=2, le=1_000_000)], ...] = Field(
        (20, 50, 100, 200, 400), description="Numbers of raters to plan for.", min_length=1
    )
    per_rater: tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...] = Field(
        (10, 30), description="Flows that each rater rates.", min_length=1
    )
    flows: LeftOut[int] = Field(
        None, ge=2, le=10_000_000, description="Flows of the planned survey; default: those of the dataset."
    )
    levels: int = Field(
        2, ge=2, le=1_000, description="Levels of the factor whose levels are to be compared."
    )
    error: LeftOut[Number] = Field(
        None,
        gt=0,
        le=1_000,
        description="Wanted standard error, in the dataset's units: adds the raters it needs. Default: none.",
    )


def _with_people(
    selected: Sequence[Selected], entry: Entry[PeopleOptions], vignettes: Vignettes, prompts: Prompts
) -> Iterator[tuple[Group, Group]]:
    groups = [group_of(one, entry, prompts) for one in chosen_each(selected, entry, vignettes)]
    rated = entry.options.people
    for people in groups if rated else groups[:1]:
        for model in groups:
            if not rated or (people.arm in rated and model.arm not in rated):
                check_same_flows(entry, vignettes, model.arm, people.arm)
                yield model, people


def people_estimates(
    selected: Sequence[Selected], entry: Entry[EstimateOptions], vignettes: Vignettes, prompts: Prompts
) -> pd.DataFrame:
    """Return people's mean for every flow, rated or not; see `KINDS` for the columns."""
    parts = []
    for model, people in _with_people(selected, entry, vignettes, prompts):
        fit = estimate_flows(people.at(model.flows), model.sample.means[:, None])
        table = fit.table.assign(explained=fit.explained)
        table.insert(0, "flow", model.flows)
        table = or_no_flows(table)
        parts.append(named(table, {"arm": model.arm, "model": model.model, "people": people.arm}))
    return _stacked(parts, _ESTIMATES)


def people_slices(
    selected: Sequence[Selected], entry: Entry[SliceOptions], vignettes: Vignettes, prompts: Prompts
) -> pd.DataFrame:
    """Return people's mean over all flows and over slices, assisted by a model; see `KINDS` for the columns."""
    parts = []
    for model, people in _with_people(selected, entry, vignettes, prompts):
        flows = vignettes[model.arm][["flow", *(entry.options.by or ())]]
        flows = flows.merge(pd.DataFrame({"flow": model.flows, "model": model.sample.means}), on="flow")
        place, rater = np.nonzero(~np.isnan(people.sample.cells))
        rating = people.sample.cells[place, rater]
        ratings = pd.DataFrame({"flow": people.flows[place], "rater": rater, "rating": rating})
        table = or_no_flows(slices(flows, ratings, entry.options.by or ()))
        parts.append(named(table, {"arm": model.arm, "model": model.model, "people": people.arm}))
    return _stacked(parts, _SLICES)


def survey_plan(selected: Sequence[Selected], entry: Entry[SurveyOptions], prompts: Prompts) -> pd.DataFrame:
    """Return the standard errors that surveys of so many raters would have; see `KINDS` for the columns."""
    options = entry.options

    def make(one: Selected) -> pd.DataFrame:
        levels = level_matrix(one.frame)
        shift = in_units(_of_flows(entry), one.arm)
        flows = options.flows or len(levels)
        values = pd.DataFrame(shift(levels.to_numpy()), index=levels.index, columns=levels.columns)
        parts = budget.survey_variances(values, template_numbers(prompts[one.arm]))
        table = budget.survey_designs(parts, options.raters, options.per_rater, flows, options.levels)
        table = table.melt(
            [name for name in table if name not in budget.TARGETS], var_name="target", value_name="std_err"
        )
        wanted = [
            budget.raters_needed(parts, target, options.error, per_rater, flows, options.levels)
            if options.error
            else None
            for target, per_rater in zip(table["target"], table["per_rater"], strict=True)
        ]
        table["about"] = table["target"].map(budget.TARGETS)
        return table.assign(
            needed=pd.array(wanted, dtype="Int64"), flow_sd=parts.flow**0.5, rater_sd=parts.rater**0.5,
            rest_sd=parts.rest**0.5,
        )[[column.name for column in _PLAN[2:]]]  # fmt: skip

    return for_each(selected, make)


def _of_flows(entry: Entry[SurveyOptions]) -> Entry[OfFlows]:
    return entry  # type: ignore[return-value]


def _stacked(parts: list[pd.DataFrame], columns: tuple[Column, ...]) -> pd.DataFrame:
    return stack(parts) if parts else pd.DataFrame(columns=[column.name for column in columns])


_PEOPLE = Column("people", "The arm of people.")
_RATED = Column("n_raters", "Raters.")
_ESTIMATES = (
    *WHO,
    _PEOPLE,
    Column("flow", "Number of the flow."),
    Column("direct", "Mean of the flow's own ratings, in the dataset's units; missing without any."),
    _RATED,
    Column("predicted", "What the model's mean answer predicts, by the line that fits the rated flows best."),
    Column("estimate", "The direct mean drawn towards the prediction, the more so the noisier it is."),
    STD_ERR,
    CONF_LOW._replace(about="Lower end of the 95% interval; it holds on average over flows."),
    CONF_HIGH._replace(about="Upper end of the 95% interval; it holds on average over flows."),
    Column("weight", "Weight of the flow's own ratings, 0 to 1."),
    Column("n_effective", "Raters whose direct mean would have the same standard error."),
    STATUS,
    Column("explained", "Share of the variance between flows that the model explains."),
)
_SLICES = (
    *WHO,
    _PEOPLE,
    FACTOR,
    LEVEL,
    Column("n_flows", "Flows with a mean answer of the model."),
    Column("plain", "Mean of the ratings alone, in the dataset's units."),
    Column("plain_low", "Lower end of its 95% interval, over raters and flows."),
    Column("plain_high", "Upper end of its 95% interval, over raters and flows."),
    Column("estimate", "Mean of people over all flows of the slice, assisted by the model."),
    STD_ERR,
    CONF_LOW,
    CONF_HIGH,
    Column("weight", "Weight of the model's answers: 0 where they say nothing about people's."),
    Column("n_ratings", "Ratings."),
    _RATED,
    Column("n_effective", "Ratings that would give the same standard error without the model."),
    STATUS,
)
_PLAN = (
    *WHO,
    Column("raters", "Raters."),
    Column("per_rater", "Flows that each rater rates."),
    Column("ratings", "Ratings in all."),
    Column("raters_per_flow", "Raters of a flow, on average."),
    Column("target", "What the survey is about: flow, overall, level or group."),
    Column("about", "The target in words."),
    STD_ERR._replace(about="Standard error of the target, in the dataset's units."),
    Column(
        "needed",
        "Raters that give the target the wanted error, each rating per_rater flows; missing without one.",
    ),
    Column("flow_sd", "Standard deviation of people's norms over flows."),
    Column("rater_sd", "Standard deviation of how strict raters are everywhere."),
    Column("rest_sd", "Standard deviation of the rest of a rating."),
    STATUS,
)

KINDS = (
    Kind(
        name="people_estimates",
        about="People's mean for every flow, from a few ratings and a model's answers to all flows.",
        options=EstimateOptions,
        function=people_estimates,
        reads="answers",
        also=("vignettes", "prompts"),
        report_section="delta",
        key=("arm", "model", "people", "flow"),
        columns=_ESTIMATES,
    ),
    Kind(
        name="people_slices",
        about="People's mean over all flows and over slices, from a few ratings and a model's answers to all flows "
        "(prediction-powered inference).",
        options=SliceOptions,
        function=people_slices,
        reads="answers",
        also=("vignettes", "prompts"),
        report_section="delta",
        key=("arm", "model", "people", "factor", "level"),
        columns=_SLICES,
    ),
    Kind(
        name="survey_plan",
        about="How precise a survey of so many raters and flows would be, from the variances of these ratings.",
        options=SurveyOptions,
        function=survey_plan,
        reads="answers",
        also=("prompts",),
        report_section="reliability",
        key=("arm", "model", "raters", "per_rater", "target"),
        columns=_PLAN,
    ),
)
