"""Kinds ``people_distances`` and ``people_flows``: how far models are from people, and on which flows they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import (
    CONF_HIGH,
    CONF_LOW,
    CORRECTED,
    LOG10_P,
    P_TEXT,
    STATISTIC,
    STATUS,
    STD_ERR,
    WHO,
    P,
    names,
)
from cinorms.analyses.shared import check_same_flows, chosen_each, corrected, named, stack
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfFlows
from cinorms.norms.assessment import divide, level_matrix
from cinorms.stats.ceilings import distances, flow_differences
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import template_numbers, template_sums

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

#: The baseline that is no people: the expected values of the models' dataset.
EXPECTED = "expected"
#: A flow differs where its p-value, corrected for all flows of the table (Benjamini-Hochberg), is below this.
DIFFERS_BELOW = 0.05

Prompts = Mapping[str, pd.DataFrame]
Floats = npt.NDArray[np.float64]


class PeopleOptions(OfFlows):
    """Options of comparisons of models with people."""

    people: LeftOut[Names] = Field(
        None,
        description="The arms of people (source: human) among the entry's arms; the other arms are compared with each "
        "of them. Flows are matched by their number, so a dataset other than the models' must tell the same flows. "
        "Default: none.",
    )
    with_expected: bool = Field(
        True,
        description="Whether to compare with the expected values of the models' dataset too, if it has any.",
    )

    def check(self, place: EntryPlace) -> None:
        """Look up the arms of people."""
        super().check(place)
        rated = [arm for arm in self.arms if place.study.arms[arm].source == "human"]
        people = self.people or ()
        place.check_names("people", people, rated, "arm of people among the entry's arms")
        place.check_same_flows("arms", [arm for arm in self.arms if arm not in people], people)


class Group(NamedTuple):
    """People of an arm, or a model: the flows, and the answers in the units of the dataset."""

    arm: str
    model: str
    flows: npt.NDArray[np.int64]
    sample: Sample

    def at(self, flows: npt.NDArray[np.int64]) -> Sample:
        """Return the sample of these flows, in this order; empty rows where there are no answers."""
        place = pd.Index(self.flows).get_indexer(pd.Index(flows))
        there = place >= 0
        cells = np.where(there[:, None], self.sample.cells[place], np.nan)
        counts = self.sample.counts
        return Sample(
            cells, None if counts is None else np.where(there[:, None], counts[place], 0.0), self.sample.exact
        )


def in_units(entry: Entry[OfFlows], arm: str) -> Callable[[Floats], Floats]:
    """Return what turns levels of an arm's scale into the units of its dataset, which its ``expected_range`` states."""
    levels = entry.scales[arm].levels
    low, high = entry.factors_of[arm].expected_range or (levels[0], levels[-1])
    return lambda x: low + (x - levels[0]) * ((high - low) / (levels[-1] - levels[0]))


def group_of(one: Selected, entry: Entry[OfFlows], prompts: Prompts) -> Group:
    """Return the answers of a model by template, or of people by rater."""
    levels = level_matrix(one.frame).sort_index()
    sums, counts = template_sums(levels, template_numbers(prompts[one.arm]))
    cells = in_units(entry, one.arm)(divide(sums, counts))
    return Group(
        one.arm, one.model, levels.index.to_numpy(dtype=np.int64), Sample(cells, counts.astype(np.float64))
    )


def _pairs(
    selected: Sequence[Selected],
    entry: Entry[PeopleOptions],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Prompts,
) -> Iterator[tuple[Group, str, Group]]:
    """Yield every model with the name of each baseline, and the baseline."""
    groups = [group_of(one, entry, prompts) for one in chosen_each(selected, entry, vignettes)]
    rated = entry.options.people or ()
    for group in groups:
        if group.arm in rated:
            continue
        stated = vignettes[group.arm]
        expected = stated["expected"].to_numpy(dtype=np.float64, na_value=np.nan)
        if entry.options.with_expected and not np.isnan(expected).all():
            given = Group(
                group.arm, EXPECTED, stated["flow"].to_numpy(dtype=np.int64), Sample.given(expected)
            )
            yield group, EXPECTED, given
        for people in groups:
            if people.arm in rated:
                check_same_flows(entry, vignettes, group.arm, people.arm)
                yield group, people.arm, people


def or_no_flows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table, or one row that says that there are no flows."""
    return table if len(table) else table.reindex([0]).assign(status="no_flows")


def _for_each_pair(
    pairs: Iterable[tuple[Group, str, Group]], make: Callable[[Group, Group], pd.DataFrame]
) -> list[pd.DataFrame]:
    """Return what ``make`` gives for each model and baseline, with their names in front."""
    return [
        named(make(model, people), {"arm": model.arm, "model": model.model, "baseline": baseline})
        for model, baseline, people in pairs
    ]


def people_distances(
    selected: Sequence[Selected],
    entry: Entry[PeopleOptions],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Prompts,
) -> pd.DataFrame:
    """Return every distance of each model from each baseline; see `KINDS` for the columns."""
    parts = _for_each_pair(
        _pairs(selected, entry, vignettes, prompts),
        lambda model, people: distances(model.sample, people.at(model.flows)),
    )
    if not parts:
        return pd.DataFrame(columns=[column.name for column in _DISTANCES])
    table = stack(parts)
    nearest = table.assign(size=table["observed"].abs()).groupby(["arm", "baseline", "metric"], sort=False)[
        "size"
    ]
    table.insert(len(table.columns) - 1, "nearest", nearest.rank(method="min").astype("Int64"))
    return table


def people_flows(
    selected: Sequence[Selected],
    entry: Entry[PeopleOptions],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Prompts,
) -> pd.DataFrame:
    """Return where each model differs from each baseline beyond noise; see `KINDS` for the columns."""

    def make(model: Group, people: Group) -> pd.DataFrame:
        table = flow_differences(model.sample, people.at(model.flows))
        table = table.rename(columns={"people": "people_mean", "model": "model_mean"})
        table.insert(0, "flow", model.flows)
        return or_no_flows(table)

    parts = _for_each_pair(_pairs(selected, entry, vignettes, prompts), make)
    if not parts:
        return pd.DataFrame(columns=[column.name for column in _FLOWS])
    table = corrected(stack(parts))
    found = table["p_bh"] < DIFFERS_BELOW
    side = np.where(table["difference"] > 0, "model higher", "model lower")
    verdict = np.where(found, side, "no difference shown")
    table.insert(len(table.columns) - 1, "verdict", np.where(table["status"] == "ok", verdict, "not tested"))
    return table


_BASELINE = Column("baseline", "The arm of people, or expected: the expected values of the dataset.")
_N_RATERS = Column("n_raters", "Raters; 0 for expected values, which nobody drew.")
_N_TEMPLATES = Column("n_templates", "Templates with a valid answer.")
_DISTANCES = (
    *WHO,
    _BASELINE,
    Column(
        "metric",
        "mean_signed (model less people), mean_absolute, std_signed (its spread over flows) or rms (root of the mean "
        "square).",
    ),
    Column("observed", "The distance between the means as they are, in the dataset's units."),
    Column(
        "estimate",
        "The distance between all such people and all such wordings: without the noise of raters and templates, except "
        "for mean_absolute.",
    ),
    CONF_LOW._replace(about="Lower end of the 95% interval of the estimate, over raters and templates."),
    CONF_HIGH._replace(about="Upper end of the 95% interval of the estimate, over raters and templates."),
    Column(
        "ceiling", "How far the means of another group of as many people would be from those of these people."
    ),
    Column("ceiling_all", "How far they would be from all such people, on the scale of estimate."),
    Column(
        "verdict",
        "farther or nearer than another group of as many people would be to all such people; undecided; no_verdict.",
    ),
    Column("n_flows", "Flows with a mean on both sides."),
    _N_RATERS,
    _N_TEMPLATES,
    Column("nearest", "Rank among the arm's models by the size of observed; 1 is the nearest."),
    STATUS,
)
_FLOWS = (
    *WHO,
    _BASELINE,
    Column("flow", "Number of the flow."),
    Column("people_mean", "Mean of the ratings, or the expected value, in the dataset's units."),
    Column("model_mean", "Mean of the model's valid answers."),
    Column("difference", "model_mean less people_mean: above 0 where the model answers higher."),
    STD_ERR,
    CONF_LOW,
    CONF_HIGH,
    STATISTIC,
    P,
    LOG10_P,
    P_TEXT,
    *CORRECTED,
    _N_RATERS,
    _N_TEMPLATES,
    Column(
        "verdict",
        "model higher, model lower (p_bh below 0.05), no difference shown, or not tested.",
    ),
    STATUS,
)

KINDS = (
    Kind(
        name="people_distances",
        about="How far each model is from people, with intervals over raters and wordings, and how close another group "
        "of people would come.",
        options=PeopleOptions,
        function=people_distances,
        reads="answers",
        also=("vignettes", "prompts"),
        report_section="delta",
        key=("arm", "model", "baseline", "metric"),
        columns=_DISTANCES,
        shown=(
            "model",
            "baseline",
            "metric",
            "observed",
            "estimate",
            "conf_low",
            "conf_high",
            "ceiling",
            "verdict",
        ),
    ),
    Kind(
        name="people_flows",
        about="On which flows each model and people differ beyond the noise of raters and wordings.",
        options=PeopleOptions,
        function=people_flows,
        reads="answers",
        also=("vignettes", "prompts"),
        report_section="delta",
        key=("arm", "model", "baseline", "flow"),
        columns=_FLOWS,
        shown=("model", "baseline", "flow", *names(*_FLOWS[4:9]), "p_bh", "verdict"),
    ),
)
