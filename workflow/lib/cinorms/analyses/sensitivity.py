"""What the prompt alone changes: the spread of the answers to a flow, and norms from one answer order each."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import pandas as pd

from cinorms.analyses.columns import CORRECTED, PAIR, PAIR_NAMES, usual
from cinorms.analyses.comparing import AGREEMENT, contrasts, or_one_model
from cinorms.analyses.options import Compares
from cinorms.analyses.shared import (
    Frames,
    answer_variances,
    by_pair,
    check_same_flows,
    check_same_scale,
    corrected,
    named,
    stack,
)
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import assess
from cinorms.stats import agreement, hypotheses


class VariancePairsOptions(Compares):
    """Options of kind ``variance_pairs``."""

    over: Literal["variants", "orders"] = "variants"
    """variants: a flow's variance over all its variants; orders: over the orders of a wording, and then the mean over
    wordings."""


def variance_pairs(
    selected: Sequence[Selected], entry: Entry[VariancePairsOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return the paired t-test of the flows' variances for each pair."""
    over, found = entry.options.over, {}
    for one in selected:
        found[one.pair] = answer_variances(one.frame, prompts[one.arm], over, 0).groupby("flow").mean()
    parts = []
    for contrast in contrasts(selected, entry, vignettes):
        sides = {"a": found[contrast.a.pair], "b": found[contrast.b.pair]}
        both = pd.DataFrame(sides).dropna()
        means = {"mean_a": both["a"].mean(), "mean_b": both["b"].mean()}
        table = hypotheses.paired_t(both).assign(**means)
        parts.append(named(table, contrast.names))
    return corrected(or_one_model(stack(parts), entry))


def order_pairs(
    selected: Sequence[Selected],
    entry: Entry[OfNorms],
    answers: Sequence[Selected],
    vignettes: Frames,
    prompts: Frames,
) -> pd.DataFrame:
    """Return how often a model holds the same norm in two order numbers, of one arm or of two."""
    parts, tables = [], by_pair(answers)
    for model in dict.fromkeys(one.model for one in selected):
        norms = {}
        for arm in dict.fromkeys(one.arm for one in selected if one.model == model):
            order_no = prompts[arm].set_index("variant")["order_no"]
            own = tables[arm, model]
            numbers = own["variant"].astype("str").map(order_no)
            for number in sorted(numbers.unique()):
                consensus, scale = entry.thresholds[model].consensus, entry.scales[arm]
                norms[arm, int(number)] = assess(own[numbers == number], consensus, scale)
        for a, b in combinations(norms, 2):
            check_same_scale(entry, (a[0], b[0]))
            check_same_flows(entry, vignettes, a[0], b[0])
            sides = {"a": norms[a], "b": norms[b]}
            paired = hypotheses.pair_norms(sides, dict.fromkeys(sides, entry.thresholds[model]))
            table = agreement.pairs(paired.astype("float64")).drop(columns=["model_a", "model_b"])
            names = {"arm_a": a[0], "order_a": a[1], "arm_b": b[0], "order_b": b[1]}
            parts.append(named(table, {"model": model, **names}))
    if parts:
        return stack(parts)
    return pd.DataFrame([{"status": "one_order"}]).reindex(columns=list(entry.declared.columns))


_ORDER = "Number of the answer order on the {} side: one order per wording, fixed or drawn as the arm states."

KINDS = (
    Kind(
        name="variance_pairs",
        about="Whether the answers to a flow vary more on one side than the other: a paired t-test of the variances.",
        function=variance_pairs,
        reads="answers",
        report_section="sensitivity",
        key=PAIR_NAMES,
        columns={
            **PAIR,
            "n": "Flows with at least two valid answers on both sides.",
            "mean_a": "Mean variance of the first side, in squared levels.",
            "mean_b": "Mean variance of the second side.",
            "mean_difference": "mean_a minus mean_b.",
            "std_err": "Standard error of mean_difference, over flows.",
            "statistic": "t.",
            "df": "Degrees of freedom.",
            **usual("p", "log10_p", "p_text"),
            **CORRECTED,
            "effect_size": "Cohen's d of the differences.",
            **usual("status", "reason"),
        },
        shown=(
            *(*PAIR_NAMES, "n", "mean_a", "mean_b", "mean_difference"),
            *("p", "p_bonferroni", "effect_size", "status"),
        ),
    ),
    Kind(
        name="order_pairs",
        about="How often a model holds the same norm when it is asked in one answer order, and when in another.",
        function=order_pairs,
        reads="norms",
        report_section="sensitivity",
        key=("model", "arm_a", "order_a", "arm_b", "order_b"),
        columns={
            **usual("model"),
            "arm_a": "Arm of the first side.",
            "order_a": _ORDER.format("first"),
            "arm_b": "Arm of the second side.",
            "order_b": _ORDER.format("second"),
            **AGREEMENT,
            "status": "ok, no_flows, no_variance (both hold the same single level on all flows), or one_order.",
        },
    ),
)
