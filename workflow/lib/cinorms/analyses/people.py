"""Kinds on people and models: how far apart they are, how they correlate, and on which flows they differ."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.analyses.columns import CORRECTED, WHO, usual
from cinorms.analyses.shared import Frames, check_same_flows, corrected, named, stack
from cinorms.core.arrays import Floats
from cinorms.core.schema import NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfArms, OfFlows
from cinorms.entries.place import EntryLocation
from cinorms.norms.assessment import level_matrix
from cinorms.stats.ceilings import distances, flow_differences
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import template_numbers, template_sums
from rewordings.arrays import divide

#: The baseline that is no people: the expected values of the models' dataset.
EXPECTED = "expected"
#: A flow differs where its p-value, corrected for all flows of the table (Benjamini-Hochberg), is below this.
DIFFERS_BELOW = 0.05


class PeopleOptions(OfFlows):
    """Options of comparisons of models with people."""

    people: NotRequired[Names] = None
    """The arms of people (source: human) among the entry's arms; the other arms are compared with each of them. Flows
    are matched by their number, so a dataset other than the models' must have the same flows. Default: none."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the arms of people."""
        super().check_options(place)
        people = self.people or ()
        place.check_people(people, self.arms)
        place.check_same_flows("arms", [arm for arm in self.arms if arm not in people], people)


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
        if not np.isnan(expected).all():
            flows = stated["flow"].to_numpy(dtype=np.int64)
            given = RatingGroup(model.arm, EXPECTED, flows, Sample.given(expected))
            yield who | {"baseline": EXPECTED}, model, given
        for people in (group for group in groups if group.arm in rated):
            check_same_flows(entry, vignettes, model.arm, people.arm)
            yield who | {"baseline": people.arm}, model, people


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


def people_flows(
    selected: Sequence[Selected], entry: Entry[PeopleOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return where each model differs from each baseline beyond noise; see `KINDS` for the columns."""
    parts = []
    for who, model, base in _with_baselines(selected, entry, vignettes, prompts):
        table = flow_differences(model.sample, base.at(model.flows)).assign(flow=model.flows)
        # Without flows, a row that says so.
        parts.append(named(table if len(table) else table.reindex([0]).assign(status="no_flows"), who))
    if not parts:
        return stack([], entry.declared.columns)
    table = corrected(stack(parts))
    side = np.where(table["difference"] > 0, "model higher", "model lower")
    verdict = np.where(table["p_bh"] < DIFFERS_BELOW, side, "no difference shown")
    return table.assign(verdict=np.where(table["status"] == "ok", verdict, "not tested"))


_BASELINE = "The arm of people, or expected: the expected values of the dataset."
_N_RATERS = "Raters; 0 for expected values, which are no sample."
_N_TEMPLATES = "Wordings with a valid answer."
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
            "raters and wordings, except for mean_absolute.",
            "conf_low": "Lower end of the 95% interval of the estimate, over raters and wordings.",
            "conf_high": "Upper end of the 95% interval of the estimate, over raters and wordings.",
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
)
