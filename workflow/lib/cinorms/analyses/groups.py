"""The kind on two groups of people who rated the same flows, with the same person on two days and models next to it."""

import itertools
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.people import group_of, in_units
from cinorms.analyses.shared import EntryPlace, Frames, check_same_flows, check_same_scale
from cinorms.core.schema import Distinct
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows
from cinorms.norms.assessment import level_matrix
from cinorms.stats.groups import compare_groups, compare_pairs
from cinorms.stats.wordings import look_up, template_numbers


class GroupsOptions(OfFlows):
    """Options of how far groups of people differ."""

    people: Annotated[Distinct[str], Field(min_length=2)]
    """The arms of people (source: human) among the entry's arms, two or more; all are compared. Flows are matched by
    their number. Of the models of other arms, answers in two wordings are compared."""
    same_people: bool = False
    """Whether people of these arms with the same running number are the same person, which numbered_as in a survey's
    file gives. true: groups are compared without those in both too, and each of these with himself or herself. false:
    nobody is known to be in both."""

    def check(self, place: EntryPlace) -> None:
        """Look up the arms of people, and refuse same_people where numbers are not those of the same people."""
        super().check(place)
        place.check_people(self.people, self.arms)
        place.check_same_flows("arms", self.people[:1], self.people[1:])
        for a, b in itertools.combinations(self.people if self.same_people else (), 2):
            if not place.study.survey(a).same_numbers(place.study.survey(b)):
                raise place.error(
                    "same_people",
                    f"the surveys of arms {a!r} and {b!r} number people apart; state numbered_as in the file of one of "
                    "them, or leave same_people out",
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
    samples, numbers = zip(*(_numbered(each, entry, prompts) for each in (one, other)), strict=True)
    flows = np.union1d(*(group.flows for group in samples))
    sides = [group.at(flows) for group in samples]
    rows = [{"who": "everyone", **row} for row in compare_groups(*sides)]
    first, second = (_single(each, entry, prompts) for each in (one, other))
    pairs = first.merge(second, on="flow", suffixes=("", "_2"))
    same = (pairs["who"] == pairs["who_2"]) & entry.options.same_people
    if entry.options.same_people:
        # Who is in both counts in the smaller group.
        small = int(len(numbers[1]) < len(numbers[0]))
        sides[1 - small] = sides[1 - small].of_units(~np.isin(numbers[1 - small], numbers[small]))
        rows += [{"who": "in_one_only", **row} for row in compare_groups(*sides)]
        alike = _pairs(pairs[same], pairs.loc[same, "who"].to_numpy())
        rows += [{"who": "same_person", **row} for row in alike]
    return rows + [{"who": "two_people", **row} for row in _pairs(pairs[~same])]


def _numbered(
    one: Selected, entry: Entry[GroupsOptions], prompts: Frames
) -> tuple[Any, npt.NDArray[np.intp]]:
    """Return the ratings of a group, and the number of each person in it."""
    variants = level_matrix(one.frame).columns
    return group_of(one, entry, prompts), np.unique(look_up(variants, template_numbers(prompts[one.arm])))


def _single(one: Selected, entry: Entry[GroupsOptions], prompts: Frames) -> pd.DataFrame:
    """Return flow, who (person or wording), value and option (from 0) of the first answer of each to each flow."""
    levels = level_matrix(one.frame)
    row, column = np.nonzero(~np.isnan(levels.to_numpy()))
    level = levels.to_numpy()[row, column]
    answers = pd.DataFrame(
        {
            "flow": levels.index.to_numpy()[row],
            "who": look_up(levels.columns, template_numbers(prompts[one.arm]))[column],
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
    "who": "everyone: the means of both groups. in_one_only: the same, with who is in both counted in the smaller one "
    "only. same_person: two answers of the same person to the same flow, one in each group. two_people: those of two "
    "different people (without same_people: of all who may be different). two_wordings: a model's in two wordings.",
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
