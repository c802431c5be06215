"""Differences between models, or between one model's arms: tests, pairs, the checks that choose them, contrasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import (
    ARM,
    CONF_HIGH,
    CONF_LOW,
    CORRECTED,
    LOG10_P,
    P_TEXT,
    PAIR,
    PAIR_NAMES,
    REASON,
    STATISTIC,
    STATUS,
    STD_ERR,
    P,
    names,
)
from cinorms.analyses.comparing import (
    FLOOR,
    FLOOR_SHOWN,
    Repeats,
    between_answers,
    between_norms,
    floor,
    groups_of,
    labels_of,
    nothing_to_compare,
    of_answers,
    of_norms,
    pairs_of,
    side_by_side,
)
from cinorms.analyses.options import Compares, Generalises
from cinorms.analyses.shared import corrected, named, stack
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import level_matrix
from cinorms.stats import hypotheses
from cinorms.stats.wordings import template_numbers

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

_RANK, _NORMAL = ("friedman", "wilcoxon_pairs"), ("repeated_measures_anova", "paired_t")
#: The effect size of each test.
_EFFECTS = {
    "friedman": "kendall_w",
    "repeated_measures_anova": "partial_eta_squared",
    "wilcoxon_pairs": "rank_biserial",
    "paired_t": "cohen_d",
}


class NormalityOptions(Compares, OfNorms):
    """Options of kind ``normality``."""


class ModelTestsOptions(NormalityOptions):
    """Options of kind ``model_tests``."""

    test: Literal["chosen", "rank", "normal"] = Field(
        "chosen",
        description="chosen: from the normality of the differences; rank: Friedman and Wilcoxon; normal: ANOVA and t.",
    )


class ModelPairsOptions(ModelTestsOptions):
    """Options of kind ``model_pairs``."""

    zero_method: Literal["wilcox", "pratt", "zsplit"] = Field(
        "wilcox",
        description="How to treat flows without a difference. wilcox: leave them out (as the papers do); pratt: rank "
        "them, then leave them out; zsplit: split them between both signs.",
    )


class ModelContrastsOptions(Generalises, Compares):
    """Options of kind ``model_contrasts``."""

    def check(self, place: EntryPlace) -> None:
        """Refuse to compare paraphrasers, whose wordings differ."""
        super().check(place)
        if "paraphraser" in (self.factor or "").split("+"):
            raise place.error(
                "factor",
                "'paraphraser' does not work here: model_contrasts compares within wordings, and two paraphrasers "
                "share none; use the kind model_pairs",
            )


def model_tests(
    selected: Sequence[Selected], entry: Entry[ModelTestsOptions], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return one test over all models of each group: Friedman, or the analysis of variance."""
    parts = []
    for group in groups_of(selected, entry, vignettes):
        paired = side_by_side(selected, entry, group)
        test, why = _chosen_test(paired, entry, 0)
        table = _with_effect(getattr(hypotheses, test)(paired), test)
        arms = ", ".join(dict.fromkeys(selected[i].arm for i in group))
        who = {"arm": arms, "compared": ", ".join(labels_of(selected, group)), "test": test}
        parts.append(named(table.assign(chosen_because=why), who))
    return nothing_to_compare(stack(parts), names(*_TESTS))


def model_pairs(
    selected: Sequence[Selected],
    entry: Entry[ModelPairsOptions],
    vignettes: Mapping[str, pd.DataFrame],
    repeats: Repeats,
) -> pd.DataFrame:
    """Return the test of each pair: Wilcoxon's signed ranks, or the paired t-test.

    The corrections are over all rows that give a p-value.
    """
    parts = []
    for pair in pairs_of(selected, entry, vignettes):
        paired = side_by_side(selected, entry, [pair.a, pair.b])
        test, why = _chosen_test(paired, entry, 1)
        found = (
            hypotheses.wilcoxon_pairs(paired, entry.options.zero_method)
            if test == "wilcoxon_pairs"
            else hypotheses.paired_t(paired)
        )
        table = _with_effect(found, test).assign(chosen_because=why)
        sides = (of_norms(selected[i], repeats, entry) for i in (pair.a, pair.b))
        table = table.assign(**floor(between_norms(paired), *sides))
        parts.append(named(table, pair.names(selected, entry.options.factor) | {"test": test}))
    columns = [*PAIR_NAMES, "test", "n", "log10_p", "effect", "effect_size", "status", "reason"]
    columns += names(*FLOOR)
    return corrected(nothing_to_compare(stack(parts), columns))


def normality(
    selected: Sequence[Selected], entry: Entry[NormalityOptions], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return, for each group, the normality check of every pair and the tests that it leads to."""
    parts = []
    for group in groups_of(selected, entry, vignettes):
        choice = hypotheses.choose_tests(side_by_side(selected, entry, group))
        arms = ", ".join(dict.fromkeys(selected[i].arm for i in group))
        checks = choice.checks.assign(overall=choice.overall, pairwise=choice.pairwise)
        parts.append(named(checks.assign(chosen_because=choice.reason), {"arm": arms}))
    columns = ["arm", "model_a", "model_b", "n", "test", "statistic", "log10_p", "status", "reason"]
    return nothing_to_compare(stack(parts), columns)


def model_contrasts(
    selected: Sequence[Selected],
    entry: Entry[ModelContrastsOptions],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
    repeats: Repeats,
) -> pd.DataFrame:
    """Return each pair's difference in mean level, with interval and test that hold the wording's noise.

    Templates are what is swapped. The corrections are over all rows that give a p-value.
    """
    from cinorms.stats import permutation

    pairs = pairs_of(selected, entry, vignettes)
    levels = {i: level_matrix(selected[i].frame) for pair in pairs for i in (pair.a, pair.b)}
    engine = {
        i: of_answers(
            selected[i], repeats, template_numbers(prompts[selected[i].arm]), entry.options.fixed_flows
        )
        for i in levels
    }
    parts = []
    for pair in pairs:
        table = permutation.compare(
            levels[pair.a],
            levels[pair.b],
            template_numbers(prompts[selected[pair.a].arm]),
            entry.seed,
            entry.options.fixed_flows,
        )
        table = table.rename(columns={"low": "conf_low", "high": "conf_high"})
        between = between_answers(levels[pair.a], levels[pair.b])
        table = table.assign(**floor(between, engine[pair.a], engine[pair.b]))
        parts.append(named(table, pair.names(selected, entry.options.factor)))
    columns = [*PAIR_NAMES, "n_flows", "n_templates", "estimate", "std_err", "conf_low", "conf_high"]
    columns += ["log10_p", "p_smallest", "status", "reason", *names(*FLOOR)]
    return corrected(nothing_to_compare(stack(parts), columns))


def _chosen_test(paired: pd.DataFrame, entry: Entry[ModelTestsOptions], which: int) -> tuple[str, str]:
    """Return the overall (0) or pairwise (1) test that the entry asks for, or that fits the data, and why."""
    asked = entry.options.test
    if asked != "chosen":
        return (_RANK if asked == "rank" else _NORMAL)[which], f"The study asks for it (test: {asked})."
    choice = hypotheses.choose_tests(paired)
    return (choice.overall, choice.pairwise)[which], choice.reason


def _with_effect(table: pd.DataFrame, test: str) -> pd.DataFrame:
    name = _EFFECTS[test]
    return table.rename(columns={name: "effect_size"}).assign(effect=name)


_CHOSEN_BECAUSE = Column("chosen_because", "Why this test was chosen: the normality checks, or the study.")
_TESTS = (
    Column("arm", "Name of the arm, or names of the compared arms."),
    Column("compared", "The compared models, with their arms where these differ."),
    Column("test", "friedman or repeated_measures_anova."),
    Column("n", "Flows for which all of the models hold a norm."),
    Column("models", "Number of compared models."),
    STATISTIC,
    Column("df", "Degrees of freedom."),
    Column("df_error", "Degrees of freedom of the error, before epsilon; analysis of variance only."),
    Column("epsilon", "Greenhouse and Geisser's epsilon; analysis of variance only."),
    P,
    LOG10_P,
    P_TEXT,
    Column("effect", "Which effect size: kendall_w or partial_eta_squared."),
    Column("effect_size", "The effect size."),
    STATUS,
    REASON,
    _CHOSEN_BECAUSE,
)
_PAIRS = (
    *PAIR,
    Column("test", "wilcoxon_pairs or paired_t."),
    Column("n", "Flows for which both sides hold a norm."),
    Column("n_zero", "Flows without a difference; Wilcoxon only."),
    Column("n_ties", "Nonzero differences whose size is not unique; Wilcoxon only."),
    Column("mean_difference", "Mean of the first side minus the second, in levels; paired t only."),
    Column("std_err", "Standard error of mean_difference; paired t only."),
    Column("statistic", "The smaller rank sum, or t."),
    Column("z", "The statistic as a standard normal, above 0 where the first side is higher; Wilcoxon only."),
    Column("df", "Degrees of freedom; paired t only."),
    P,
    LOG10_P,
    P_TEXT,
    *CORRECTED,
    Column("effect", "Which effect size: rank_biserial or cohen_d."),
    Column("effect_size", "The effect size, above 0 where the first side is higher."),
    Column("median_difference", "Median of the first side minus the second, including zeros; Wilcoxon only."),
    STATUS,
    REASON,
    _CHOSEN_BECAUSE,
    *FLOOR,
)
_NORMALITY = (
    ARM,
    Column("model_a", "Name of the first model, with its arm where these differ."),
    Column("model_b", "Name of the second model, with its arm where these differ."),
    Column("n", "Flows for which both hold a norm."),
    Column("test", "Shapiro-Wilk, or D'Agostino-Pearson above 5,000 flows."),
    STATISTIC,
    P,
    LOG10_P,
    P_TEXT,
    *CORRECTED,
    STATUS,
    REASON,
    Column("overall", "Test over all models of the group that follows from the checks."),
    Column("pairwise", "Test of a pair of models that follows from the checks."),
    _CHOSEN_BECAUSE,
)
_CONTRASTS = (
    *PAIR,
    Column("n_flows", "Flows that both sides answered."),
    Column("n_templates", "Templates in which both sides answered; the test swaps the sides in them."),
    Column("estimate", "Mean level of the first side minus that of the second."),
    STD_ERR,
    CONF_LOW,
    CONF_HIGH,
    P,
    LOG10_P,
    P_TEXT,
    *CORRECTED,
    Column("p_smallest", "The smallest p-value that this number of templates can give."),
    STATUS,
    REASON,
    *FLOOR,
)

KINDS = (
    Kind(
        name="model_tests",
        about="One test across all models of a group: Friedman with Kendall's W, or analysis of variance.",
        options=ModelTestsOptions,
        function=model_tests,
        reads="norms",
        also=("vignettes",),
        report_section="models",
        key=("arm", "compared"),
        columns=_TESTS,
        shown=("arm", "compared", "test", "n", "statistic", "df", "p", "effect", "effect_size", "status"),
    ),
    Kind(
        name="model_pairs",
        about="A test of each pair of models with corrections and effect sizes: Wilcoxon's signed ranks, or paired t.",
        options=ModelPairsOptions,
        function=model_pairs,
        reads="norms",
        also=("vignettes", "repeats"),
        report_section="models",
        key=PAIR_NAMES,
        columns=_PAIRS,
        shown=(
            *PAIR_NAMES,
            *("test", "n", "statistic", "p", "p_bonferroni", "p_holm", "p_bh", "effect_size", "status"),
            *FLOOR_SHOWN,
        ),
    ),
    Kind(
        name="normality",
        about="The normality checks that choose the tests between models.",
        options=NormalityOptions,
        function=normality,
        reads="norms",
        also=("vignettes",),
        report_section="models",
        key=("arm", "model_a", "model_b"),
        columns=_NORMALITY,
    ),
    Kind(
        name="model_contrasts",
        about="The difference in mean level of each pair of models, with a permutation test and an interval that "
        "include the noise of the wording.",
        options=ModelContrastsOptions,
        function=model_contrasts,
        reads="answers",
        also=("vignettes", "prompts", "repeats"),
        decided="block",
        report_section="models",
        key=PAIR_NAMES,
        columns=_CONTRASTS,
        shown=(
            *PAIR_NAMES,
            *(
                "n_flows",
                "n_templates",
                "estimate",
                "std_err",
                "conf_low",
                "conf_high",
                "p",
                "p_holm",
                "status",
            ),
            *FLOOR_SHOWN,
        ),
    ),
)
