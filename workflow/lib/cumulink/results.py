"""What a fit returns: tables, predictions and a summary."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from cumulink import tails
from cumulink.arrays import Floats, Ints
from cumulink.errors import DataError, ModelError, unknown
from cumulink.formula import parse
from cumulink.likelihood import LINKS, Problem


@dataclass(frozen=True, repr=False, eq=False)
class Solved:
    """What a mixed model starts from: problem solved, values found, cluster of each grouped row."""

    problem: Problem
    parameters: Floats
    clusters: dict[str, Ints]


class Text(str):
    """A text that a prompt or a notebook shows line by line."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ClmResult:
    """A fitted cumulative link model, with or without random intercepts, or why there is none.

    Attributes
    ----------
    status, reason
        ``ok``; ``separated`` (some terms have no finite estimate); or why there are no numbers: ``no_data``,
        ``one_level``, ``constant_factor``, ``not_converged``, ``unidentified`` (random intercepts). ``reason``
        describes it in words.
    coefficients
        A row per term: ``factor``, ``level``, ``baseline``, ``estimate`` on the scale of the link, ``std_err``, ``df``
        (degrees of freedom of Student's t, infinite for the normal distribution), ``statistic``, ``p``, ``log10_p``
        (exact also where ``p`` is a bound), ``odds_ratio`` (logit only), ``conf_low`` and ``conf_high`` (95%), and
        ``status``: ``ok``, ``separated``, ``aliased`` (repeats earlier terms), ``constant_factor`` (one level),
        ``few_clusters`` (no error, `clm`'s ``cluster``) or
        ``not_estimated``. What does not exist is NaN.
    thresholds
        A row per threshold: ``threshold`` (such as ``-2|-1``), ``estimate``, ``std_err``, ``df``, ``status``.
    sd, sd_std_err
        Standard deviation of each random intercept on the scale of the link, and its standard error.
    levels, n, n_missing
        Levels of the outcome that occur, rows used, and rows left out because they have no outcome.
    n_clusters
        Number of clusters, or of groups with a random intercept, by the name of their column.
    log_likelihood, aic, mcfadden_r2
        None without a fit. Under separation, of the value approached; ``aic`` counts every parameter. McFadden's R
        squared is 1 - l / l_0, l_0 the log-likelihood of thresholds alone; None with random intercepts.
    """

    formula: str
    link: str
    levels: tuple[Any, ...]
    n: int
    n_missing: int
    status: str
    reason: str
    coefficients: pd.DataFrame
    thresholds: pd.DataFrame
    sd: dict[str, float] = field(default_factory=dict)
    sd_std_err: dict[str, float] = field(default_factory=dict)
    n_clusters: dict[str, int] = field(default_factory=dict)
    log_likelihood: float | None = None
    aic: float | None = None
    mcfadden_r2: float | None = None
    covariance: pd.DataFrame | None = None
    solved: Solved | None = None

    def __repr__(self) -> str:
        return f"<ClmResult: {self.formula}, {self.link}, n = {self.n}, {self.status}>"

    @property
    def params(self) -> pd.Series:
        """Estimates of terms (``roast[T.dark]``) and thresholds (``1|2``)."""
        return self._parameters["estimate"].rename("params")

    @property
    def bse(self) -> pd.Series:
        """Standard errors of `params`."""
        return self._parameters["std_err"].rename("bse")

    @property
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of `params`, each against 0."""
        estimate, std_err, df = self._numbers
        found = inference(estimate, std_err, df)
        return pd.Series(found["p"], self._parameters.index, name="pvalues")

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the limits ``lower`` and ``upper`` of the interval of each of `params`.

        They are ``estimate -/+ q std_err`` with q the quantile 1 - ``alpha``/2 of the normal distribution, or of
        Student's t with the parameter's degrees of freedom.
        """
        estimate, std_err, df = self._numbers
        half = _quantile(df, 1 - alpha / 2) * std_err
        return pd.DataFrame({"lower": estimate - half, "upper": estimate + half}, self._parameters.index)

    def cov_params(self) -> pd.DataFrame:
        """Return the covariance of `params`; what does not exist is NaN.

        Errors that are clustered in two ways have variances only (``DataError``).
        """
        if self.log_likelihood is None:
            raise DataError(f"there is no fit with a covariance: {self.status} ({self.reason})")
        if self.covariance is None:
            raise DataError(
                f"clustered by {' and '.join(self.n_clusters)} only variances exist; cluster by one column"
            )
        return self.covariance

    @property
    def llf(self) -> float | None:
        """The log-likelihood, as statsmodels calls it."""
        return self.log_likelihood

    @property
    def nobs(self) -> int:
        """The number of rows used, as statsmodels calls it."""
        return self.n

    @property
    def bic(self) -> float | None:
        """Schwarz's criterion: the number of parameters times log(n), less twice the log-likelihood."""
        if self.log_likelihood is None:
            return None
        return self._n_parameters * float(np.log(self.n)) - 2 * self.log_likelihood

    @property
    def _n_parameters(self) -> int:
        return round((self.aic or 0.0) / 2 + (self.log_likelihood or 0.0))

    def compare_lr_test(self, restricted: "ClmResult") -> "LikelihoodRatio":
        """Compare with a fit of the same rows that lacks some of this fit's factors or random intercepts.

        Twice the difference of the log-likelihoods refers to a chi-square. A standard deviation of 0 is an edge: each
        random intercept more counts as a degree of freedom with a probability of a half.

        Examples
        --------
        >>> import pandas as pd
        >>> from cumulink import clm
        >>> data = pd.DataFrame({"a": list("xxxxyyyy"), "b": list("ppqqppqq"), "y": [1, 3, 2, 3, 1, 2, 2, 3]})
        >>> test = clm("y ~ a + b", data).compare_lr_test(clm("y ~ a", data))
        >>> test.df, round(test.statistic, 2), round(test.p, 3)
        (1, 1.75, 0.186)
        """
        return _compare(restricted, self)

    @property
    def _parameters(self) -> pd.DataFrame:
        """The rows of all tables, by the names of the parameters."""
        terms = self.coefficients.set_axis(_names(self.coefficients))
        return pd.concat([terms, self.thresholds.set_index("threshold")]).rename_axis(None)

    @property
    def _numbers(self) -> list[Floats]:
        return [self._parameters[name].to_numpy(np.float64) for name in ("estimate", "std_err", "df")]

    def predict(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of each level of the outcome in each row of ``data``.

        ``P(Y = k) = F(theta_k - x'beta) - F(theta_{k-1} - x'beta)``; with random intercepts, in a group whose
        intercepts are 0. A row that needs an estimate that does not exist is NaN.

        Parameters
        ----------
        data
            A column for each factor, with levels that the fit has seen.

        Examples
        --------
        >>> import pandas as pd
        >>> from cumulink import clm
        >>> data = pd.DataFrame({"roast": list("aaaabbbb"), "rating": [1, 1, 2, 3, 1, 2, 3, 3]})
        >>> clm("rating ~ roast", data).predict(pd.DataFrame({"roast": ["a", "b"]})).round(2)
              1     2     3
        0  0.50  0.25  0.25
        1  0.25  0.25  0.50
        """
        if self.log_likelihood is None:
            raise DataError(f"there is no fit to predict from: {self.status} ({self.reason})")
        below = LINKS[self.link].cdf(
            self.thresholds["estimate"].to_numpy() - _sums(self.coefficients, data)[:, None]
        )
        edge = np.ones((len(data), 1))
        shares = np.diff(np.hstack([0 * edge, below, edge]), axis=1)
        shares[np.isnan(shares).any(axis=1)] = np.nan
        return pd.DataFrame(shares, data.index, list(self.levels))

    def summary(self) -> Text:
        """Return a text: how the model was fitted, then a row per parameter."""
        lines = [f"{self.formula}   (link: {self.link})"]
        facts = [f"{self.n} rows" + (f" ({self.n_missing} more have no outcome)" if self.n_missing else "")]
        if self.log_likelihood is not None:
            facts += [f"log-likelihood {self.log_likelihood:.3f}", f"AIC {self.aic:.3f}"]
        baselines = dict(zip(self.coefficients["factor"], self.coefficients["baseline"], strict=True))
        lines += [", ".join(facts), "baselines: " + ", ".join(f"{k} = {v}" for k, v in baselines.items())]
        for group, sd in self.sd.items():
            lines.append(f"random intercept of {group}: sd {sd:.4f} ({self.n_clusters[group]} groups)")
        if self.n_clusters and not self.sd:
            clusters = " and ".join(f"{name} ({n})" for name, n in self.n_clusters.items())
            lines.append(f"standard errors clustered by {clusters}")
        lines += [f"status: {self.status}" + (f" ({self.reason})" if self.reason else ""), ""]
        table = self._parameters[["estimate", "std_err", "status"]].join(self.conf_int())
        table.insert(2, "p", self.pvalues)
        table["status"] = table.pop("status")
        lines.append(
            table.to_string(float_format="{:.4f}".format, formatters={"p": "{:.3g}".format}, na_rep="")
        )
        return Text("\n".join(lines))


class LikelihoodRatio(NamedTuple):
    """A likelihood-ratio test: ``df`` parameters more, of which ``edges`` are random intercepts."""

    statistic: float
    df: int
    edges: int
    p: float
    log10_p: float


def _compare(small: ClmResult, large: ClmResult) -> LikelihoodRatio:
    """Return the test of ``small`` within ``large``; raises ``ModelError`` where it does not hold."""
    a, b = (parse(fit.formula) for fit in (small, large))
    # An intercept without spread is left out of a fit.
    n_small, n_large = (fit._n_parameters + sum(sd == 0 for sd in fit.sd.values()) for fit in (small, large))  # noqa: SLF001
    more, groups = n_large - n_small, set(b.groups) - set(a.groups)
    reasons = {
        f"{small.status} and {large.status}: one has no log-likelihood": None in (small.llf, large.llf),
        "their links differ": small.link != large.link,
        "they are not of the same rows": (a.outcome, small.n, small.levels)
        != (b.outcome, large.n, large.levels),
        f"{small.formula!r} is not a part of {large.formula!r}": not (
            set(a.factors) <= set(b.factors) and set(a.groups) <= set(b.groups) and more > 0
        ),
        "errors are clustered, so rows are not independent: compare fits without cluster, or by clmm": any(
            fit.n_clusters and not fit.sd for fit in (small, large)
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            raise ModelError(f"the fits cannot be compared by likelihood: {reason}")
    statistic, edges = max(2 * ((large.llf or 0.0) - (small.llf or 0.0)), 0.0), len(groups)
    log10_p = 0.0
    if statistic:
        # A mixture of chi-squares: k intercepts are not at their edge. That with no degree of freedom is never larger.
        mixture = [
            tails.log10_p(statistic, more - edges + k) + math.log10(math.comb(edges, k) / 2**edges)
            for k in range(edges + 1)
            if more - edges + k
        ]
        log10_p = float(np.logaddexp.reduce(np.array(mixture) * math.log(10))) / math.log(10)
    return LikelihoodRatio(statistic, more, edges, float(tails.to_p(log10_p)), log10_p)


def covariance_table(coefficients: pd.DataFrame, thresholds: pd.DataFrame, matrix: Floats) -> pd.DataFrame:
    """Return the covariance of thresholds and then terms, by the names of the parameters; NaN what has no estimate."""
    names, cuts = _names(coefficients), thresholds["threshold"]
    fitted = ~coefficients["status"].isin(["aliased", "constant_factor", "not_estimated"]).to_numpy()
    estimates = np.append(thresholds["estimate"], coefficients.loc[fitted, "estimate"])
    table = pd.DataFrame(matrix, [*cuts, *names[fitted]], [*cuts, *names[fitted]])
    table.loc[np.isnan(estimates), :] = table.loc[:, np.isnan(estimates)] = np.nan
    return table.reindex(index=[*names, *cuts], columns=[*names, *cuts])


def _names(coefficients: pd.DataFrame) -> pd.Series:
    return coefficients["factor"] + "[T." + coefficients["level"] + "]"


def _sums(table: pd.DataFrame, data: pd.DataFrame) -> Floats:
    """Return what the terms of ``table`` add up to in each row of ``data``."""
    total = np.zeros(len(data))
    for factor, rows in table.groupby("factor", sort=False):
        if factor not in data:
            raise unknown("column", factor, data.columns)
        nothing = rows["status"].isin(["aliased", "constant_factor"])
        effects = {rows["baseline"].iloc[0]: 0.0}
        effects |= dict(zip(rows["level"], rows["estimate"].mask(nothing, 0.0), strict=True))
        levels = data[factor].astype(str)
        for level in levels[~levels.isin(effects)].unique()[:1]:
            raise unknown(f"level of {factor} in the fit", level, effects)
        total += levels.map(effects).to_numpy(np.float64)
    return total


def _quantile(df: Floats, share: float) -> Floats:
    """Return a quantile of Student's t, of the normal distribution where ``df`` is infinite."""
    return np.asarray(np.where(np.isinf(df), special.ndtri(share), special.stdtrit(df, share)))


def inference(estimate: Floats, std_err: Floats, df: Floats, link: str = "") -> dict[str, Floats]:
    """Return the columns ``estimate`` to ``conf_high``: estimate / std_err, two-sided p, 95% interval.

    They refer to Student's t with ``df`` degrees of freedom, to the normal distribution where these are infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = estimate / std_err
        odds = np.exp(estimate) if link == "logit" else np.full(len(z), np.nan)
    half = _quantile(df, 0.975) * std_err
    log10_p = np.array([tails.log10_p(value**2, 1, free) for value, free in zip(z, df, strict=True)])
    names = ("estimate", "std_err", "df", "statistic", "p", "log10_p", "odds_ratio", "conf_low", "conf_high")
    columns = (estimate, std_err, df, z, tails.to_p(log10_p), log10_p, odds, estimate - half, estimate + half)
    return dict(zip(names, columns, strict=True))
