"""Kinds on how people differ, and where a model would stand among them: strictness, weights, classes of people."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.shared import (
    EntryPlace,
    Frames,
    add_factors,
    check_same_flows,
    named,
    stack,
    templates_of,
)
from cinorms.core.errors import DataError
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows
from cinorms.norms.assessment import valid_levels
from cinorms.stats import standing
from cinorms.stats.classes import CrowdClasses
from cinorms.stats.persons import Crowd, CrowdAnswers, fit_people


class StructureOptions(OfFlows):
    """Options of how people differ."""

    by: str = Field(description="The factor of the dataset whose levels people weigh, such as the principle.")
    most_classes: int = Field(6, ge=1, le=20)
    """Classes of people to try, from one up to this number."""

    def check(self, place: EntryPlace) -> None:
        """Look up the factor, and the arms of people."""
        super().check(place)
        for arm in self.arms:
            place.check_names("by", [self.by], place.study.factors_of(arm).factors, f"factor of arm {arm!r}")
        self.check_people(place)

    def check_people(self, place: EntryPlace) -> None:
        """Refuse arms of models."""
        place.check_people(self.arms, self.arms, "arms")


class AmongOptions(StructureOptions):
    """Options of where models stand among people."""

    people: str
    """The arm of people (source: human) among whom the models of the others stand."""

    def check_people(self, place: EntryPlace) -> None:
        """Look up the arm of people, and check that the others ask about the same flows."""
        place.check_people([self.people], self.arms)
        place.check_same_flows("arms", [arm for arm in self.arms if arm != self.people], [self.people])


def _answers(
    one: Selected, entry: Entry[StructureOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> CrowdAnswers:
    scale, by = entry.scales[one.arm], entry.options.by
    rows = one.frame.assign(who=templates_of(one.frame, prompts), value=valid_levels(one.frame))
    rows = add_factors(rows, vignettes, [by])
    rows = rows[rows["value"].notna()]
    flows, flow = np.unique(rows["flow"].to_numpy(dtype=np.int64), return_inverse=True)
    level = pd.Categorical(rows[by])
    used = level.remove_unused_categories()
    y = (rows["value"].to_numpy(dtype=np.float64) - scale.levels[0]) / (scale.levels[-1] - scale.levels[0])
    who = np.unique(rows["who"].cat.codes.to_numpy(), return_inverse=True)[1]
    flow, who, code = (column.astype(np.int64) for column in (flow, who, used.codes))
    return CrowdAnswers(flows, flow, who, code, y, [str(name) for name in used.categories])


def people_structure(
    selected: Sequence[Selected], entry: Entry[StructureOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return how people of each arm differ in strictness and in weights, and their classes; see `KINDS`."""
    parts = []
    for one in selected:
        people = _answers(one, entry, vignettes[one.arm], prompts[one.arm])
        try:
            table = standing.structure(fit_people(people), people, entry.options.most_classes, entry.seed)
        except DataError as error:
            table = _nothing(str(error))
        parts.append(named(table, {"arm": one.arm, "model": one.model}))
    return _stacked(parts, _STRUCTURE)


def model_among_people(
    selected: Sequence[Selected], entry: Entry[AmongOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return where each model would stand among the people; see `KINDS` for the columns."""
    arm, parts = entry.options.people, []
    people = _crowd(selected, entry, vignettes, prompts)

    @cache
    def classes() -> CrowdClasses:
        return standing.choose_classes(people()[0], entry.options.most_classes, entry.seed)

    for one in (one for one in selected if one.arm != arm):
        check_same_flows(entry, vignettes, one.arm, arm)
        try:
            group, fit = people()
            model = _answers(one, entry, vignettes[one.arm], prompts[one.arm])
            table = standing.among(fit, group, model, classes(), entry.seed)
        except DataError as error:
            table = _nothing(str(error))
        parts.append(named(table, {"arm": one.arm, "model": one.model, "people": arm}))
    if not parts:
        alone = _nothing("no model is compared with people")
        parts = [named(alone, {"arm": arm, "model": one.model, "people": arm}) for one in selected]
    return _stacked(parts, _AMONG)


def people_positions(
    selected: Sequence[Selected], entry: Entry[AmongOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return the mean answer and the weights of every person and every model; see `KINDS` for the columns."""
    parts, people = [], _crowd(selected, entry, vignettes, prompts)
    for one in selected:
        try:
            group, fit = people()
            of_model = one.arm != entry.options.people
            model = _answers(one, entry, vignettes[one.arm], prompts[one.arm]) if of_model else None
            table = standing.positions(fit, group, model, entry.seed).assign(status="ok", reason="")
        except DataError as error:
            table = _nothing(str(error))
        parts.append(named(table, {"arm": one.arm, "model": one.model}))
    return _stacked(parts, _POSITIONS)


def _nothing(reason: str) -> pd.DataFrame:
    return pd.DataFrame([{"status": "not_estimated", "reason": reason}])


def _crowd(
    selected: Sequence[Selected], entry: Entry[AmongOptions], vignettes: Frames, prompts: Frames
) -> Callable[[], tuple[CrowdAnswers, Crowd]]:
    """Return what fits the people of the arm that the entry names, once; it raises ``DataError`` where it cannot."""

    @cache
    def fitted() -> tuple[CrowdAnswers, Crowd]:
        arm = entry.options.people
        group = next((one for one in selected if one.arm == arm), None)
        if group is None:
            raise DataError("nobody of the arm of people is selected")
        people = _answers(group, entry, vignettes[arm], prompts[arm])
        return people, fit_people(people)

    return fitted


def _stacked(parts: Sequence[pd.DataFrame], columns: dict[str, str]) -> pd.DataFrame:
    """Return the parts as one table with these columns and their types."""
    texts = {"arm", "model", "people", "what", "level", "status", "reason"}
    counts = {"class", "person", "n_people", "n_flows"}
    types = {name: "str" if name in texts else "Int64" if name in counts else "float64" for name in columns}
    return stack([part.reindex(columns=list(columns)) for part in parts], columns).astype(types)


_ON_LINE = "on a line from 0, the lowest option, to 1, the highest: for yes and no, the share of yes"
_STRUCTURE = {
    **WHO,
    "what": "mean: a person's mean answer, a low one being strict. weight: the mean answer where the factor has the "
    "level, less that where it has the others. class: the mean answer of a class of people. classes: how well so many "
    "classes predict answers that they have not seen.",
    "level": "Level of the factor; missing for the mean answer and for classes.",
    "class": "Number of the class, the largest first; with classes: how many there are.",
    "estimate": f"Mean over people, {_ON_LINE}; of classes: the mean log-likelihood of an answer.",
    "sd": "Standard deviation among people, without the noise of single answers; of classes: standard error.",
    "low": "5% of people are below this, without the noise of single answers.",
    "high": "5% of people are above this.",
    "observed_sd": "Standard deviation of what people answered, with that noise.",
    "observed_low": "5% of people answered below this.",
    "observed_high": "5% of people answered above this.",
    "reliability": "Share of the observed variance that is between people: 1 is no noise; of a class: the share of its "
    "people who are in it by both halves of their answers.",
    "halves": "Correlation between two random halves of each person's answers.",
    "share": "Share of people in the class; of classes: 1 for the number chosen, else 0.",
    "n_people": "People with an answer.",
    "n_flows": "Flows that they answered.",
    **usual("status", "reason"),
}
_AMONG = {
    **WHO,
    "people": "The arm of people.",
    "what": "mean: the model's mean answer to the flows that people answered. weight: its mean answer where the factor "
    "has the level, less that where it has the others. distance: how far its mean answers by level are from those of "
    "the average person (root of the mean square). class: how far they are from the nearest class of people.",
    "level": "Level of the factor; of the class: who they are, in words; missing for the mean answer and the distance.",
    "class": "Number of the nearest class in the table of kind people_structure with the same options.",
    "value": f"The value of the model, {_ON_LINE}.",
    "average": "That of the average person; of a class: the model's distance from the average person.",
    "share": "Share of people whose value is lower than the model's; of the distance, the share of people who are "
    "nearer to the average person; of a class, the share of draws in which it is nearer than the average person is.",
    "conf_low": "Lower end of the 95% interval of share, over people, answers, flows and wordings.",
    "conf_high": "Upper end of the 95% interval of share.",
    "n_people": "People with an answer.",
    "n_flows": "Flows that people and model answered.",
    **usual("status", "reason"),
}
_POSITIONS = {
    **WHO,
    "person": "Number of the person, in the order of the running numbers; missing for a model.",
    "what": "mean or weight, as in the kind people_structure.",
    "level": "Level of the factor; missing for the mean answer.",
    "value": "Of a person: one draw from what the answers say, so that people spread as they do without the noise of "
    "single answers. Of a model: its value.",
    **usual("conf_low", "conf_high", "status", "reason"),
}

KINDS = (
    Kind(
        name="people_structure",
        about="How people differ: in strictness, in the weight of a factor's levels, and in classes of people.",
        function=people_structure,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "what", "level", "class"),
        columns=_STRUCTURE,
        shown=(
            *("arm", "what", "level", "class", "estimate", "sd", "low", "high"),
            *("reliability", "halves", "share"),
        ),
    ),
    Kind(
        name="model_among_people",
        about="Where a model would stand among people: how strict, how much weight on what, next to which class.",
        function=model_among_people,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "people", "what", "level"),
        columns=_AMONG,
        shown=(
            *("model", "what", "level", "class", "value", "average", "share"),
            *("conf_low", "conf_high", "n_people"),
        ),
    ),
    Kind(
        name="people_positions",
        about="Strictness and weights of every person and every model: what the figure people_cloud shows.",
        function=people_positions,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "person", "what", "level"),
        columns=_POSITIONS,
        shown=("model", "person", "what", "level", "value", "conf_low", "conf_high"),
    ),
)
