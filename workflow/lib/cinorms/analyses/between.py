"""Differences between models, or between one model's arms: tests, pairs, contrasts."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import CORRECTED, INTERVAL, PAIR, PAIR_NAMES, usual
from cinorms.analyses.comparing import (
    DIFFER,
    contrasts,
    contrasts_of_norms,
    differing,
    groups_of,
    labels_of,
    or_one_model,
    side_by_side,
)
from cinorms.analyses.options import Compares, ComparesNorms
from cinorms.analyses.shared import Frames, alike_words, corrected, marked_alike, named, stack
from cinorms.core.schema import NotRequired, Number
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.place import EntryLocation
from cinorms.norms.assessment import level_matrix
from cinorms.stats import hypotheses, permutation, pvalues
from cinorms.stats.wordings import template_numbers
from cumulink import tails

#: Level of the conclusions of contrasts.
ALPHA = 0.05
_RANK, _NORMAL = ("friedman", "wilcoxon_pairs"), ("repeated_measures_anova", "paired_t")


class ModelTestsOptions(ComparesNorms):
    """Options of kinds ``model_tests`` and ``model_pairs``."""

    test: Literal["chosen", "rank", "normal"] = "chosen"
    """chosen: from the normality of the differences; rank: Friedman and Wilcoxon; normal: ANOVA and t."""


class ModelContrastsOptions(Compares):
    """Options of kind ``model_contrasts``."""

    margin: NotRequired[Annotated[Number, Field(gt=0, le=1000)]] = None
    """A difference of the mean levels that is smaller than this, in levels, counts as none: adds the test that it is
    (two one-sided tests), so that 'no difference' can be claimed. State it before you see the results. Default: no such
    test."""

    def check_options(self, place: EntryLocation) -> None:
        """Refuse to compare paraphrasers, whose wordings differ."""
        super().check_options(place)
        if "paraphraser" in (self.factor or "").split("+"):
            raise place.error(
                "factor",
                "'paraphraser' does not work here: model_contrasts compares within wordings, and two paraphrasers "
                "share none; use the kind model_pairs",
            )


def model_tests(
    selected: Sequence[Selected], entry: Entry[ModelTestsOptions], vignettes: Frames
) -> pd.DataFrame:
    """Return one test over all models of each group: Friedman, or the analysis of variance."""
    parts = []
    for group in groups_of(selected, entry, vignettes):
        paired = side_by_side(group, entry)
        test, _, why = _tests(paired, entry)
        table = getattr(hypotheses, test)(paired).assign(flows=len(paired))
        arms = ", ".join(dict.fromkeys(one.arm for one in group))
        who = {"arm": arms, "compared": ", ".join(labels_of(group)), "test": test}
        parts.append(named(table.assign(chosen_because=why), who))
    return or_one_model(stack(parts), entry).reindex(columns=list(entry.declared.columns))


def model_pairs(
    selected: Sequence[Selected], entry: Entry[ModelTestsOptions], vignettes: Frames
) -> pd.DataFrame:
    """Return the test of each pair: Wilcoxon's signed ranks, or the paired t-test.

    The corrections are over all rows that give a p-value.
    """
    parts = []
    for contrast, paired, differ in contrasts_of_norms(selected, entry, vignettes):
        _, test, why = _tests(paired, entry)
        table = getattr(hypotheses, test)(paired)
        parts.append(named(table.assign(chosen_because=why, **differ), contrast.names | {"test": test}))
    return corrected(or_one_model(stack(parts), entry))


def model_contrasts(
    selected: Sequence[Selected],
    entry: Entry[ModelContrastsOptions],
    vignettes: Frames,
    prompts: Frames,
) -> pd.DataFrame:
    """Return each pair's difference in mean level, with interval and test that hold the wording's noise.

    Templates are what is swapped. The corrections are over all rows that give a p-value.
    """
    templates = {arm: template_numbers(table) for arm, table in prompts.items()}
    compared = contrasts(selected, entry, vignettes)
    sides = {one.pair: one for contrast in compared for one in (contrast.a, contrast.b)}
    levels = {pair: level_matrix(one.frame) for pair, one in sides.items()}
    alike = {
        pair: alike_words(one.frame, prompts[one.arm], entry.scales[one.arm]) for pair, one in sides.items()
    }
    parts = []
    for contrast in compared:
        a, b = contrast.a.pair, contrast.b.pair
        of_arm = templates[contrast.a.arm]
        margin = entry.options.margin
        table = permutation.compare(levels[a], levels[b], of_arm, entry.seed, margin=margin)
        table = marked_alike(table, (alike[a], alike[b])).assign(**differing(levels[a], levels[b]))
        parts.append(named(table, contrast.names))
    table = corrected(or_one_model(stack(parts), entry))
    if entry.options.margin is None:
        return table.drop(columns=[*_EQUIVALENCE, "log10_p_equivalent"], errors="ignore")
    if not compared:
        return table
    equivalent = pvalues.adjust(table.pop("log10_p_equivalent").astype("float64"), "holm")
    near, differ = equivalent < np.log10(ALPHA), table["log10_p_holm"] < np.log10(ALPHA)
    kinds = ["small_difference", "equivalent", "different"]
    words = np.select([near & differ, near, differ], kinds, "undecided")
    judged = pd.Series(words, dtype="str").where(~np.isnan(equivalent))
    margin, p = entry.options.margin, tails.to_p(equivalent)
    return table.assign(margin=margin, p_equivalent_holm=p, conclusion=judged)


def _tests(paired: pd.DataFrame, entry: Entry[ModelTestsOptions]) -> tuple[str, str, str]:
    """Return the overall and the pairwise test that the entry asks for, or that fit the data, and why."""
    asked = entry.options.test
    if asked == "chosen":
        return hypotheses.choose_tests(paired)
    return *(_RANK if asked == "rank" else _NORMAL), f"The study asks for it (test: {asked})."


_EQUIVALENCE = {
    "margin": "A smaller difference counts as none, in levels (only where the analysis states one, as the next two).",
    "p_equivalent_holm": "p-value of the two one-sided tests that the difference is smaller than the margin, after "
    "Holm over all rows that have one; needs six wordings.",
    "conclusion": "What holds of other wordings, at 5% after Holm. equivalent: the difference is smaller than the "
    "margin; different: there is a difference; small_difference: both; undecided: neither, which is no evidence that "
    "there is no difference. Missing without a test.",
}
_CHOSEN_BECAUSE = "Why this test was chosen: the normality checks, or the study."

KINDS = (
    Kind(
        name="model_tests",
        about="One test across all models of a group: Friedman with Kendall's W, or analysis of variance.",
        function=model_tests,
        reads="norms",
        report_section="models",
        key=("arm", "compared"),
        columns={
            "arm": "Name of the arm, or names of the compared arms.",
            "compared": "The compared models, with their arms where these differ.",
            "test": "friedman or repeated_measures_anova.",
            "n": "Flows for which all of the models hold a norm: the test is about these only.",
            "flows": "Flows that were asked.",
            "models": "Number of compared models.",
            **usual("statistic"),
            "df": "Degrees of freedom.",
            "df_error": "Degrees of freedom of the error, before epsilon; analysis of variance only.",
            "epsilon": "Greenhouse and Geisser's epsilon; analysis of variance only.",
            **usual("p", "log10_p", "p_text"),
            "effect": "Which effect size: kendall_w or partial_eta_squared.",
            "effect_size": "The effect size.",
            **usual("status", "reason"),
            "chosen_because": _CHOSEN_BECAUSE,
        },
        shown=(
            *("arm", "compared", "test", "n", "flows", "statistic", "df", "p"),
            *("effect", "effect_size", "status"),
        ),
    ),
    Kind(
        name="model_pairs",
        about="A test of each pair of models with corrections and effect sizes: Wilcoxon's signed ranks, or paired t.",
        function=model_pairs,
        reads="norms",
        report_section="models",
        key=PAIR_NAMES,
        columns={
            **PAIR,
            "test": "wilcoxon_pairs or paired_t.",
            "n": "Flows for which both sides hold a norm.",
            "n_zero": "Flows without a difference; Wilcoxon only.",
            "n_ties": "Nonzero differences whose size is not unique; Wilcoxon only.",
            "mean_difference": "Mean of the first side minus the second, in levels; paired t only.",
            "std_err": "Standard error of mean_difference; paired t only.",
            "statistic": "The smaller rank sum, or t.",
            "z": "The statistic as a standard normal, above 0 where the first side is higher; Wilcoxon only.",
            "df": "Degrees of freedom; paired t only.",
            **usual("p", "log10_p", "p_text"),
            **CORRECTED,
            "effect_size": "The effect size, above 0 where the first side is higher.",
            "median_difference": "Median of the first side minus the second, including zeros; Wilcoxon only.",
            **usual("status", "reason"),
            "effect": "Which effect size: rank_biserial or cohen_d.",
            "chosen_because": _CHOSEN_BECAUSE,
            **DIFFER,
        },
        shown=(
            *(*PAIR_NAMES, "test", "n", "statistic", "p", "p_bonferroni", "p_holm", "p_bh"),
            *("effect_size", "status", *DIFFER),
        ),
    ),
    Kind(
        name="model_contrasts",
        about="The difference in mean level of each pair of models, with a permutation test and an interval that "
        "include the noise of the wording.",
        function=model_contrasts,
        reads="answers",
        report_section="models",
        key=PAIR_NAMES,
        columns={
            **PAIR,
            "n_flows": "Flows that both sides answered.",
            "n_templates": "Wordings in which both sides answered; the test swaps the sides in them.",
            "estimate": "Mean level of the first side minus that of the second.",
            **INTERVAL,
            **usual("p", "log10_p", "p_text"),
            **CORRECTED,
            "p_smallest": "The smallest p-value that this number of wordings can give.",
            **_EQUIVALENCE,
            "status": "ok, alike_templates if the wordings are too alike for interval and tests to hold, or why "
            "there are no numbers.",
            **usual("reason"),
            **DIFFER,
        },
        shown=(
            *(*PAIR_NAMES, "n_flows", "n_templates", "estimate", "std_err", "conf_low", "conf_high"),
            *("p", "p_holm", "p_equivalent_holm", "conclusion", "status", *DIFFER),
        ),
    ),
)
