"""Tests between models on their norms: the papers' rank tests, and the paired tests for normal data.

``paired`` is a frame of norms: flows as rows, models as columns, a level or missing where the model holds
no norm. Every test takes the flows for which all of its models hold one (complete cases) and reports how
many. Formulas, and why these tests find too much: docs/method/stats/tests.md; `cinorms.stats.permutation` does not.
"""

import itertools
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.stats import pvalues
from cumulink import tails

#: Normality is judged from at least this many flows; with fewer, the check would almost never find a departure.
FEWEST_FOR_NORMALITY = 20
#: Most flows for which the Shapiro-Wilk p-value is calibrated; D'Agostino and Pearson's test beyond.
_MOST_SHAPIRO = 5000
#: From this many nonzero differences on, the signed-rank statistic is about normal.
_FEWEST_NORMAL = 10
#: A normality check below this p-value, after Holm's correction, rejects.
_ALPHA = 0.05

#: Attributes that are compared together, and what one side of each pair must have: as in the paper, an aligned model is
#: not compared with a quantised one.
_BASES = {"alignment+quantisation": {"alignment": "none", "quantisation": "none"}}


def pair_norms(norms: Mapping[str, pd.DataFrame], thresholds: Mapping[str, Thresholds]) -> pd.DataFrame:
    """Return the kept norms side by side: every flow any model was asked, one Int8 column per model.

    ``norms`` has the norms table (`tables.NORMS`) of each model, ``thresholds`` what a norm of each needs.
    """
    held = {model: assessment.held(frame, thresholds[model]) for model, frame in norms.items()}
    paired = pd.DataFrame({model: table.set_index("flow")["value"] for model, table in held.items()})
    paired = paired.sort_index().astype("Int8")
    return paired.set_axis(pd.Index(paired.index, name="flow", dtype=np.int64))


def friedman(paired: pd.DataFrame) -> pd.DataFrame:
    """Return Friedman's test that no model's levels are higher than another's, with Kendall's W."""
    x = paired.dropna().to_numpy(dtype=np.int64)
    n, k = x.shape
    row: dict[str, Any] = {"models": k, "n": n, "statistic": np.nan, "df": max(k - 1, 0)}
    row |= {"log10_p": np.nan, "effect": "kendall_w", "effect_size": np.nan}
    status, reason = _why_none(x)
    if status == "ok":
        # SciPy's test needs three models and has no W: the models' part of the variance of the ranks within flows.
        ranks = scipy.stats.rankdata(x, axis=1) - (k + 1) / 2
        w = float((ranks.mean(axis=0) ** 2).sum() / (ranks**2).mean(axis=0).sum())
        chi2 = w * n * (k - 1)
        row |= {"statistic": chi2, "effect_size": w, "log10_p": tails.log10_p(chi2, k - 1)}
    table = pd.DataFrame([row | {"status": status, "reason": reason}])
    return pvalues.add_columns(table, corrections=False)


def wilcoxon_pairs(paired: pd.DataFrame) -> pd.DataFrame:
    """Return Wilcoxon's signed-rank test of two models, the columns of ``paired``, on flows with a difference."""
    x = paired.dropna().to_numpy(dtype=np.int64)
    d = x[:, 0] - x[:, 1]
    n, zeros = len(d), int((d == 0).sum())
    sizes = np.bincount(np.abs(d[d != 0]))
    row: dict[str, Any] = {"n": n, "n_zero": zeros, "n_ties": int(sizes[sizes > 1].sum())}
    row |= dict.fromkeys(("statistic", "z", "log10_p", "effect_size", "median_difference"), np.nan)
    row["effect"] = "rank_biserial"
    status, reason = _why_none(x)
    if status != "ok":
        return pd.DataFrame([row | {"status": status, "reason": reason}])
    how = {"zero_method": "wilcox", "alternative": "greater", "method": "asymptotic"}
    up, down = (scipy.stats.wilcoxon(side, **how) for side in (d, -d))
    row |= {"statistic": min(up.statistic, down.statistic), "z": up.zstatistic}
    row["log10_p"] = tails.log10_p(up.zstatistic**2, 1)
    row["effect_size"] = (up.statistic - down.statistic) / (up.statistic + down.statistic)
    row["median_difference"] = float(np.median(d))
    if n - zeros < _FEWEST_NORMAL:
        reason = f"only {n - zeros} differences are not zero: the normal approximation is rough"
    return pd.DataFrame([row | {"status": status, "reason": reason}])


class Choice(NamedTuple):
    """Which tests fit the data, and why in a sentence."""

    overall: Literal["friedman", "repeated_measures_anova"]
    pairwise: Literal["wilcoxon_pairs", "paired_t"]
    reason: str


def choose_tests(paired: pd.DataFrame) -> Choice:
    """Choose between ANOVA with paired t-tests and the rank tests, as in LLM-CI section 4.

    Rank tests are also chosen if normality cannot be judged.
    """
    checks = normality(paired)
    not_judged = checks[checks["status"] != "ok"]
    rejected = checks[checks["p_holm"] < _ALPHA]
    if checks.empty:
        reason = "Rank tests, because there are fewer than two models to compare."
    elif len(rejected):
        worst = rejected.sort_values("log10_p", kind="stable").iloc[0]
        reason = (
            f"Rank tests, because the differences between {worst['model_a']} and {worst['model_b']} are not "
            f"normal ({worst['test']}, n = {worst['n']}, p = {worst['p_text']}; normality "
            f"is rejected for {len(rejected)} of {len(checks)} pairs at {_ALPHA:g} after Holm)."
        )
    elif len(not_judged):
        first = not_judged.iloc[0]
        reason = (
            "Rank tests, because normality cannot be judged for "
            f"{first['model_a']} and {first['model_b']}: {first['reason']}."
        )
    else:
        reason = (
            "ANOVA and paired t-tests, because normality of the differences between models is not rejected "
            f"for any of {len(checks)} pairs (smallest p after Holm {pvalues.show(checks['log10_p_holm'].min())})."
        )
        return Choice("repeated_measures_anova", "paired_t", reason)
    return Choice("friedman", "wilcoxon_pairs", reason)


def normality(paired: pd.DataFrame) -> pd.DataFrame:
    """Return the check of the differences of each pair of models: a row of `_normality` with corrected p-values."""
    pairs = itertools.combinations(paired.columns, 2)
    rows = [{"model_a": a, "model_b": b} | _normality(paired[[a, b]]) for a, b in pairs]
    columns = ["model_a", "model_b", "n", "test", "statistic", "log10_p", "status", "reason"]
    return pvalues.add_columns(pd.DataFrame(rows, columns=columns), corrections=True)


def _normality(paired: pd.DataFrame) -> dict[str, Any]:
    """Return the check of the differences between two models."""
    x = paired.dropna().to_numpy(dtype=np.int64)
    d, n = x[:, 0] - x[:, 1], len(x)
    row: dict[str, Any] = {"n": n, "test": "", "statistic": np.nan, "log10_p": np.nan}
    if n < FEWEST_FOR_NORMALITY:
        return row | {"status": "few_flows", "reason": f"there are {n} complete flows"}
    if (d == d[0]).all():
        return row | {"status": "no_variance", "reason": "the difference is the same in every flow"}
    if n <= _MOST_SHAPIRO:
        found = scipy.stats.shapiro(d)
        row |= {"test": "Shapiro-Wilk", "log10_p": float(np.log10(max(found.pvalue, tails.SMALLEST)))}
    else:
        found = scipy.stats.normaltest(d)
        row |= {"test": "D'Agostino-Pearson", "log10_p": tails.log10_p(float(found.statistic), 2)}
    return row | {"statistic": float(found.statistic), "status": "ok", "reason": ""}


def repeated_measures_anova(paired: pd.DataFrame) -> pd.DataFrame:
    """Return the analysis of variance of levels by model, within flows; p is Greenhouse and Geisser's.

    statsmodels' `AnovaRM` has no epsilon.
    """
    x = paired.dropna().to_numpy(dtype=np.float64)
    n, k = x.shape
    df, df_error = max(k - 1, 0), max((k - 1) * (n - 1), 0)
    row: dict[str, Any] = {
        "models": k,
        "n": n,
        "statistic": np.nan,
        "df": df,
        "df_error": df_error,
        "epsilon": np.nan,
    }
    row |= {"log10_p": np.nan, "effect": "partial_eta_squared", "effect_size": np.nan}
    status, reason = _why_none(x)
    if status == "ok":
        gaps = x - x.mean(axis=1, keepdims=True)
        model = n * float((gaps.mean(axis=0) ** 2).sum())
        error = float(((gaps - gaps.mean(axis=0)) ** 2).sum())
        if error < 1e-12 * (model + error):
            status, reason = "no_variance", "the differences between models are the same in every flow"
        else:
            centred = np.cov(gaps, rowvar=False)
            epsilon = float(np.trace(centred) ** 2 / (df * (centred**2).sum()))
            ratio = (model / df) / (error / df_error)
            row |= {"statistic": ratio, "epsilon": epsilon, "effect_size": model / (model + error)}
            row |= {"log10_p": tails.log10_p(ratio, df * epsilon, df_error * epsilon)}
    table = pd.DataFrame([row | {"status": status, "reason": reason}])
    return pvalues.add_columns(table, corrections=False)


def paired_t(paired: pd.DataFrame) -> pd.DataFrame:
    """Return the paired t-test of two models, the columns of ``paired``: norms, or other numbers."""
    x = paired.dropna().to_numpy(dtype=np.float64)
    d = x[:, 0] - x[:, 1]
    n = len(d)
    row: dict[str, Any] = {"n": n, "mean_difference": float(d.mean()) if n else np.nan}
    row |= {"std_err": np.nan, "statistic": np.nan, "df": max(n - 1, 0), "log10_p": np.nan}
    row |= {"effect": "cohen_d", "effect_size": np.nan}
    status, reason = _why_none(x)
    if status == "ok" and n == 1:
        status, reason = "one_flow", "one complete flow has no variance"
    elif status == "ok" and (d == d[0]).all():
        status, reason = "no_variance", "the difference is the same in every flow"
    if status == "ok":
        sd = float(d.std(ddof=1))
        t = row["mean_difference"] / (sd / np.sqrt(n))
        row |= {"std_err": sd / np.sqrt(n), "statistic": t, "log10_p": tails.log10_p(t**2, 1, n - 1)}
        row["effect_size"] = row["mean_difference"] / sd
    return pd.DataFrame([row | {"status": status, "reason": reason}])


def factor_pairs(attributes: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """Return the pairs of models that differ in one attribute, or in several at once, and in no other.

    ``attributes`` has a row per model (or model and arm; the index names what is compared) and a column per attribute
    that must be held. ``attribute`` is a column, or columns joined by ``+``, all of which must differ; the model with
    the levels of `_BASES` is model_a. A missing attribute (a capacity that was not published) is not known to be the
    same as anything, so its model is in no pair. Columns: model_a, level_a, model_b, level_b.
    """
    varied = attribute.split("+")
    base = _BASES.get(attribute, {})
    held = [name for name in attributes if name not in varied]
    rows = []
    for pair in itertools.combinations(attributes.index[attributes.notna().all(axis=1)], 2):
        a, b = sorted(pair, key=lambda m: any(attributes.loc[m, name] != v for name, v in base.items()))
        first, second = attributes.loc[a], attributes.loc[b]
        if any(first[name] != v for name, v in base.items()):
            continue
        if all(first[h] == second[h] for h in held) and all(first[v] != second[v] for v in varied):
            level_a, level_b = (
                # A whole number has no decimals, whatever its column's type.
                "+".join(f"{side[v]:g}" if isinstance(side[v], float) else str(side[v]) for v in varied)
                for side in (first, second)
            )
            rows.append((a, level_a, b, level_b))
    return pd.DataFrame(rows, columns=["model_a", "level_a", "model_b", "level_b"])


def _why_none(x: NDArray[Any]) -> tuple[str, str]:
    """Return ok, or why there is no test of ``x`` (flows x models), and the reason in words."""
    n, models = x.shape
    if models < 2:
        return "one_model", "a test between models needs at least two"
    if n == 0:
        return "no_flows", "there is no flow for which all of these models hold a norm"
    if (x == x[:, :1]).all():
        return "no_differences", f"the models hold the same norm in all {n} flows"
    return "ok", ""
