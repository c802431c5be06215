"""Kinds that compare models, or one model's arms: tests, pairs, contrasts, agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from cinorms.analyses.pairing import groups_of, labels_of, pairs_of, side_by_side
from cinorms.analyses.shared import Entry, chosen_each, named, stack
from cinorms.entries.kinds import Selected
from cinorms.norms.assessment import level_matrix
from cinorms.stats import agreement, hypotheses, pvalues

_RANK, _NORMAL = ("friedman", "wilcoxon_pairs"), ("repeated_measures_anova", "paired_t")
#: The effect size of each test.
_EFFECTS = {
    "friedman": "kendall_w",
    "repeated_measures_anova": "partial_eta_squared",
    "wilcoxon_pairs": "rank_biserial",
    "paired_t": "cohen_d",
}


def model_tests(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return one test over all models of each group: Friedman, or the analysis of variance.

    Columns: arm, compared (the models), test, n (flows for which all hold a norm), models, statistic, df,
    df_error, epsilon, p, log10_p, p_text, effect (which), effect_size, status, reason, chosen_because.
    """
    selected = chosen_each(selected, entry, vignettes)
    parts = []
    for group in groups_of(selected, entry):
        paired = side_by_side(selected, entry, group)
        test, why = _chosen_test(paired, entry, 0)
        table = _with_effect(getattr(hypotheses, test)(paired), test)
        arms = ", ".join(dict.fromkeys(selected[i].arm for i in group))
        names = {"arm": arms, "compared": ", ".join(labels_of(selected, group)), "test": test}
        parts.append(named(table.assign(chosen_because=why), names))
    columns = [
        "arm",
        "compared",
        "test",
        "n",
        "models",
        "statistic",
        "df",
        "df_error",
        "epsilon",
        "p",
        "log10_p",
    ]
    columns += ["p_text", "effect", "effect_size", "status", "reason", "chosen_because"]
    return _nothing_to_compare(stack(parts), columns)


def model_pairs(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return the test of each pair: Wilcoxon's signed ranks, or the paired t-test.

    Columns: factor (where the entry has one), arm_a, model_a, arm_b, model_b, level_a, level_b, test, n,
    then as `hypotheses.wilcoxon_pairs` or `paired_t`, effect, effect_size. The corrections are over all rows
    that give a p-value.
    """
    selected = chosen_each(selected, entry, vignettes)
    zero_method = entry.get("zero_method", "wilcox")
    parts = []
    for pair in pairs_of(selected, entry):
        paired = side_by_side(selected, entry, [pair.a, pair.b])
        test, why = _chosen_test(paired, entry, 1)
        found = (
            hypotheses.wilcoxon_pairs(paired, zero_method)
            if test == "wilcoxon_pairs"
            else hypotheses.paired_t(paired)
        )
        table = _with_effect(found.drop(columns=["model_a", "model_b"]), test).assign(chosen_because=why)
        parts.append(named(table, pair.names(selected, entry.get("factor")) | {"test": test}))
    columns = [
        "arm_a",
        "model_a",
        "arm_b",
        "model_b",
        "test",
        "n",
        "log10_p",
        "effect",
        "effect_size",
        "status",
    ]
    return _corrected(_nothing_to_compare(stack(parts), [*columns, "reason"]))


def normality(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return, for each group, the normality check of every pair and the tests that it leads to.

    Columns: arm, model_a, model_b, then as `hypotheses.choose_tests`; overall, pairwise, chosen_because.
    """
    selected = chosen_each(selected, entry, vignettes)
    parts = []
    for group in groups_of(selected, entry):
        choice = hypotheses.choose_tests(side_by_side(selected, entry, group))
        arms = ", ".join(dict.fromkeys(selected[i].arm for i in group))
        checks = choice.checks.assign(overall=choice.overall, pairwise=choice.pairwise)
        parts.append(named(checks.assign(chosen_because=choice.reason), {"arm": arms}))
    columns = ["arm", "model_a", "model_b", "n", "test", "statistic", "log10_p", "status", "reason"]
    return _nothing_to_compare(stack(parts), columns)


def model_contrasts(
    selected: Sequence[Selected],
    entry: Entry,
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return each pair's difference in mean level, with interval and test that hold the wording's noise.

    Columns: factor (where the entry has one), arm_a, model_a, arm_b, model_b, level_a, level_b, then as
    `permutation.compare`; conf_low and conf_high are its interval. Templates are what is drawn and swapped.
    The corrections are over all rows that give a p-value.
    """
    from cinorms.stats import permutation

    selected = chosen_each(selected, entry, vignettes)
    pairs = pairs_of(selected, entry)
    levels = {i: level_matrix(selected[i].frame) for pair in pairs for i in (pair.a, pair.b)}
    parts = []
    for pair in pairs:
        table = permutation.compare(
            {"a": levels[pair.a], "b": levels[pair.b]},
            entry["seed"],
            entry.get("resample", "both"),
            prompts[selected[pair.a].arm].set_index("variant")["template_no"],
        )
        table = table.drop(columns=["model_a", "model_b"])
        table = table.rename(columns={"low": "conf_low", "high": "conf_high"})
        parts.append(named(table, pair.names(selected, entry.get("factor"))))
    columns = [
        "arm_a",
        "model_a",
        "arm_b",
        "model_b",
        "n_flows",
        "n_units",
        "estimate",
        "std_err",
        "conf_low",
    ]
    columns += ["conf_high", "log10_p", "p_smallest", "status", "reason"]
    return _corrected(_nothing_to_compare(stack(parts), columns))


def agreement_pairs(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return how far each pair holds the same norms: names as of `model_pairs`, then `agreement.pairs`."""
    selected = chosen_each(selected, entry, vignettes)
    parts = []
    for pair in pairs_of(selected, entry):
        values = side_by_side(selected, entry, [pair.a, pair.b]).astype("Float64").astype("float64")
        table = agreement.pairs(values).drop(columns=["model_a", "model_b"])
        parts.append(named(table, pair.names(selected, entry.get("factor"))))
    columns = [
        "arm_a",
        "model_a",
        "arm_b",
        "model_b",
        "n_flows",
        "agreement",
        "kappa_linear",
        "kappa_quadratic",
    ]
    return _nothing_to_compare(stack(parts), [*columns, "mean_difference", "status"])


def agreement_sets(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return on how many flows each set of models holds the same norm; the set "all" without sets.

    Columns: arm, then as `agreement.common`.
    """
    selected = chosen_each(selected, entry, vignettes)
    parts = []
    for arm in dict.fromkeys(one.arm for one in selected):
        group = [i for i, one in enumerate(selected) if one.arm == arm]
        values = side_by_side(selected, entry, group).astype("Float64").astype("float64")
        sets = entry.get("sets") or {"all": list(values.columns)}
        parts.append(named(agreement.common(values, sets), {"arm": arm}))
    return stack(parts)


def _chosen_test(paired: pd.DataFrame, entry: Entry, which: int) -> tuple[str, str]:
    """Return the overall (0) or pairwise (1) test that the entry asks for, or that fits the data, and why."""
    asked = entry.get("test", "chosen")
    if asked != "chosen":
        return (_RANK if asked == "rank" else _NORMAL)[which], f"The study asks for it (test: {asked})."
    choice = hypotheses.choose_tests(paired)
    return (choice.overall, choice.pairwise)[which], choice.reason


def _with_effect(table: pd.DataFrame, test: str) -> pd.DataFrame:
    name = _EFFECTS[test]
    return table.rename(columns={name: "effect_size"}).assign(effect=name)


def _nothing_to_compare(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return the table with ``columns`` in front; one row that says so where there is nothing to compare."""
    if table.empty:
        none = "no two of the selected models differ only in what is compared"
        table = pd.DataFrame([{"log10_p": float("nan"), "status": "one_model", "reason": none}])
    if not set(columns) <= set(table.columns):
        table = table.reindex(columns=list(dict.fromkeys([*columns, *table.columns])))
    return table


def _corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its p-values corrected over all its rows, not over each part."""
    of_parts = [c for c in table.columns if c in ("p", "p_text") or str(c).endswith(pvalues.METHODS)]
    table = table.drop(columns=of_parts).astype({"log10_p": "float64"})
    return pvalues.add_columns(table, corrections=True)
