"""Kinds on where a model would stand among people, and on how far two groups of people differ."""

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.people import group_of, in_units
from cinorms.analyses.shared import (
    Frames,
    answers_by_factor,
    check_same_flows,
    check_same_scale,
    named,
    stack,
)
from cinorms.core.arrays import Ints
from cinorms.core.errors import DataError
from cinorms.core.schema import Distinct
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows
from cinorms.entries.place import EntryLocation
from cinorms.norms.assessment import level_matrix
from cinorms.stats.ceilings import compare_groups, compare_pairs
from cinorms.stats.persons import Crowd, CrowdAnswers, among, fit_people
from cinorms.stats.wordings import look_up, template_numbers


class AmongOptions(OfFlows):
    """Options of where models stand among people."""

    by: str = Field(description="The factor of the dataset whose levels people weigh, such as the principle.")
    people: str
    """The arm of people (source: human) among whom the models of the other arms are placed."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the factor and the arm of people, and check that the others ask about the same flows."""
        super().check_options(place)
        for arm in self.arms:
            place.check_names("by", [self.by], place.study.factors_of(arm).factors, f"factor of arm {arm!r}")
        place.check_people([self.people], self.arms)
        place.check_same_flows("arms", [arm for arm in self.arms if arm != self.people], [self.people])


def _answers(
    one: Selected, entry: Entry[AmongOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> CrowdAnswers:
    scale, by = entry.scales[one.arm], entry.options.by
    rows = answers_by_factor(one.frame, vignettes, prompts, [by])
    rows = rows[rows["value"].notna()]
    flows, flow = np.unique(rows["flow"].to_numpy(dtype=np.int64), return_inverse=True)
    level = pd.Categorical(rows[by])
    used = level.remove_unused_categories()
    y = (rows["value"].to_numpy(dtype=np.float64) - scale.levels[0]) / (scale.levels[-1] - scale.levels[0])
    who = np.unique(rows["template"].cat.codes.to_numpy(), return_inverse=True)[1]
    flow, who, code = (column.astype(np.int64) for column in (flow, who, used.codes))
    return CrowdAnswers(flows, flow, who, code, y, [str(name) for name in used.categories])


def model_among_people(
    selected: Sequence[Selected], entry: Entry[AmongOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return where each model would stand among the people; see `KINDS` for the columns."""
    arm, parts = entry.options.people, []

    @cache
    def people() -> tuple[CrowdAnswers, Crowd]:
        group = next((one for one in selected if one.arm == arm), None)
        if group is None:
            raise DataError("nobody of the arm of people is selected")
        answers = _answers(group, entry, vignettes[arm], prompts[arm])
        return answers, fit_people(answers)

    for one in (one for one in selected if one.arm != arm):
        check_same_flows(entry, vignettes, one.arm, arm)
        try:
            group, fit = people()
            model = _answers(one, entry, vignettes[one.arm], prompts[one.arm])
            table = among(fit, group, model, entry.seed)
        except DataError as error:
            table = _nothing(str(error))
        parts.append(named(table, {"arm": one.arm, "model": one.model, "people": arm}))
    if not parts:
        alone = _nothing("no model is compared with people")
        parts = [named(alone, {"arm": arm, "model": one.model, "people": arm}) for one in selected]
    texts, counts = {"arm", "model", "people", "what", "level", "status", "reason"}, {"n_people", "n_flows"}
    types = {name: "str" if name in texts else "Int64" if name in counts else "float64" for name in _AMONG}
    return stack([part.reindex(columns=list(_AMONG)) for part in parts], _AMONG).astype(types)


def _nothing(reason: str) -> pd.DataFrame:
    return pd.DataFrame([{"status": "not_estimated", "reason": reason}])


_AMONG = {
    **WHO,
    "people": "The arm of people.",
    "what": "mean: the model's mean answer to the flows that people answered; a low one is strict. weight: its mean "
    "answer where the factor has the level, less that where it has the others.",
    "level": "Level of the factor; missing for the mean answer.",
    "value": "The value of the model, on a line from 0, the lowest option, to 1, the highest: for yes and no, the "
    "share of yes.",
    "average": "That of the average person.",
    "share": "Share of people whose value is lower than the model's, without the noise of single answers.",
    "conf_low": "Lower end of the 95% interval of share, over people, answers, flows and wordings.",
    "conf_high": "Upper end of the 95% interval of share.",
    "n_people": "People with an answer.",
    "n_flows": "Flows that people and model answered.",
    **usual("status", "reason"),
}


# --- Two groups who rated the same flows, with the same person on two days and models next to them


class GroupsOptions(OfFlows):
    """Options of how far groups of people differ."""

    people: Annotated[Distinct[str], Field(min_length=2)]
    """The arms of people (source: human) among the entry's arms, two or more; all are compared. Flows are matched by
    their number. Of the models of other arms, answers in two wordings are compared."""
    same_people: bool = False
    """Whether people of these arms with the same running number are the same person, which numbered_as in a survey's
    file gives. true: groups are also compared without the people in both, and each of these people with himself or
    herself. false: no person is known to be in both."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the arms of people, and refuse same_people where numbers are not those of the same people."""
        super().check_options(place)
        place.check_people(self.people, self.arms)
        place.check_same_flows("arms", self.people[:1], self.people[1:])
        for a, b in itertools.combinations(self.people if self.same_people else (), 2):
            if not place.study.survey(a).same_numbers(place.study.survey(b)):
                raise place.error(
                    "same_people",
                    f"the surveys of arms {a!r} and {b!r} number their people separately; state numbered_as in the "
                    "file of one of them, or leave same_people out",
                )


def people_groups(
    selected: Sequence[Selected], entry: Entry[GroupsOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return how far each two groups of people differ, next to chance, one person and models; see `KINDS`."""
    check_same_scale(entry, entry.options.arms)
    rows = []
    rated = [one for one in selected if one.arm in entry.options.people]
    for one, other in itertools.combinations(rated, 2):
        check_same_flows(entry, vignettes, one.arm, other.arm)
        found = _of_two(one, other, entry, prompts)
        rows += [{"arm": one.arm, "model": one.model, "other": other.arm, **row} for row in found]
    for one in (one for one in selected if one.arm not in entry.options.people):
        who = {"arm": one.arm, "model": one.model, "other": "", "who": "two_wordings"}
        rows += [who | row for row in _two_wordings(one, entry, prompts)]
    counts = dict.fromkeys(("n", "n_people", "n_other"), "Int64")
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(counts)


def _of_two(
    one: Selected, other: Selected, entry: Entry[GroupsOptions], prompts: Frames
) -> list[dict[str, Any]]:
    """Return the rows of two groups: everyone, those who are in one only, the same person, two people."""
    groups = [group_of(each, entry, prompts) for each in (one, other)]
    flows = np.union1d(*(group.flows for group in groups))
    sides = [group.at(flows) for group in groups]
    rows = [{"who": "everyone", **row} for row in compare_groups(*sides)]
    first, second = (_single(each, entry, prompts) for each in (one, other))
    pairs = first.merge(second, on="flow", suffixes=("", "_2"))
    same = (pairs["who"] == pairs["who_2"]) & entry.options.same_people
    if entry.options.same_people:
        # Who is in both counts in the smaller group.
        numbers = [np.unique(_numbers(each, level_matrix(each.frame), prompts)) for each in (one, other)]
        small = int(len(numbers[1]) < len(numbers[0]))
        sides[1 - small] = sides[1 - small].of_units(~np.isin(numbers[1 - small], numbers[small]))
        rows += [{"who": "in_one_only", **row} for row in compare_groups(*sides)]
        alike = _pairs(pairs[same], pairs.loc[same, "who"].to_numpy())
        rows += [{"who": "same_person", **row} for row in alike]
    return rows + [{"who": "two_people", **row} for row in _pairs(pairs[~same])]


def _numbers(one: Selected, levels: pd.DataFrame, prompts: Frames) -> Ints:
    """Return the number of the person, or wording, of each column of ``levels``."""
    return look_up(levels.columns, template_numbers(prompts[one.arm]))


def _single(one: Selected, entry: Entry[GroupsOptions], prompts: Frames) -> pd.DataFrame:
    """Return flow, who (person or wording), value and option (from 0) of the first answer of each to each flow."""
    levels = level_matrix(one.frame)
    row, column = np.nonzero(~np.isnan(levels.to_numpy()))
    level = levels.to_numpy()[row, column]
    answers = pd.DataFrame(
        {
            "flow": levels.index.to_numpy()[row],
            "who": _numbers(one, levels, prompts)[column],
            "value": in_units(entry, one.arm)(level),
            "option": entry.scales[one.arm].places(level),
        }
    )
    return answers.drop_duplicates(["flow", "who"])


def _pairs(pairs: pd.DataFrame, who: npt.NDArray[Any] | None = None) -> list[dict[str, Any]]:
    steps = (pairs["option"] - pairs["option_2"]).abs().to_numpy(dtype=np.float64)
    first, second = (pairs[name].to_numpy(dtype=np.float64) for name in ("value", "value_2"))
    return compare_pairs(first, second, steps, who)


def _two_wordings(one: Selected, entry: Entry[GroupsOptions], prompts: Frames) -> list[dict[str, Any]]:
    """Return how alike a model's answers in two wordings of the same flow are, over all pairs of wordings."""
    answers = _single(one, entry, prompts)
    pairs = answers.merge(answers, on="flow", suffixes=("", "_2"))
    # Each pair is there in both directions, so that r has no first side.
    return [{**row, "n": row["n"] // 2} for row in _pairs(pairs[pairs["who"] != pairs["who_2"]])]


_COLUMNS = {
    **WHO,
    "other": "The arm of people with which the group is compared; empty for a model.",
    "who": "everyone: the means of both groups. in_one_only: the same, with people in both groups counted in the "
    "smaller one only. same_person: two answers of the same person to the same flow, one in each group. two_people: "
    "those of two different people (without same_people: of all who may be different). two_wordings: a model's in two "
    "wordings.",
    "measure": "mean_signed (mean difference of the flows' means, in the dataset's units), rms (root of their mean "
    "square), correlation (Pearson's r), same_answer (share of pairs with the same option), one_step (with the same "
    "option or the next).",
    "estimate": "What was observed.",
    "conf_low": "Lower end of its 95% interval over people; for the same person only.",
    "conf_high": "Upper end of that interval.",
    "expected": "What two such groups drawn from the same people show on average, from how raters of a flow differ "
    "within the groups: the noise ceiling.",
    "expected_low": "95% of such pairs of groups are above this and below expected_high.",
    "expected_high": "Upper end of that range.",
    "verdict": "as_expected: in that range; farther or nearer: beyond it; no_verdict. Missing for pairs of answers.",
    "n": "Flows that both groups rated, or pairs of answers.",
    "n_people": "People of the group; of pairs of the same person, people with a pair.",
    "n_other": "People of the other group.",
    **usual("status"),
}


KINDS = (
    Kind(
        name="model_among_people",
        about="Where a model would stand among people: how strict it is, and how much weight it gives to what.",
        function=model_among_people,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "people", "what", "level"),
        columns=_AMONG,
        shown=("model", "what", "level", "value", "average", "share", "conf_low", "conf_high", "n_people"),
    ),
    Kind(
        name="people_groups",
        about="How far two groups of people who rated the same flows differ, next to what chance makes of such groups; "
        "and how alike two answers of one person, of two people and of a model in two wordings are.",
        function=people_groups,
        reads="answers",
        report_section="reliability",
        key=("arm", "model", "other", "who", "measure"),
        columns=_COLUMNS,
        shown=(
            *("arm", "model", "other", "who", "measure", "estimate", "conf_low", "conf_high", "expected"),
            *("expected_low", "expected_high", "verdict", "n"),
        ),
    ),
)
