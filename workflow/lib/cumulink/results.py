"""What a fit returns: tables, predictions and a summary."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from cumulink import tails
from cumulink.arrays import Floats, Ints
from cumulink.errors import DataError, unknown
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
        ``status``: ``ok``, ``separated``, ``penalised`` (finite only because of the penalty), ``aliased`` (repeats
        earlier terms), ``constant_factor`` (one level), ``few_clusters`` (no error, `clm`'s ``cluster``) or
        ``not_estimated``. What does not exist is NaN.
    thresholds
        A row per threshold: ``threshold`` (such as ``-2|-1``), ``estimate``, ``std_err``, ``df``, ``status``.
    scale
        The terms of log sigma, as ``coefficients`` without odds ratios; None without a scale part.
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
    scale: pd.DataFrame | None = None
    sd: dict[str, float] = field(default_factory=dict)
    sd_std_err: dict[str, float] = field(default_factory=dict)
    n_clusters: dict[str, int] = field(default_factory=dict)
    log_likelihood: float | None = None
    aic: float | None = None
    mcfadden_r2: float | None = None
    solved: Solved | None = None

    def __repr__(self) -> str:
        return f"<ClmResult: {self.formula}, {self.link}, n = {self.n}, {self.status}>"

    @property
    def params(self) -> pd.Series:
        """Estimates of terms (``roast[T.dark]``), thresholds (``1|2``) and scale (``log_sigma:roast[T.dark]``)."""
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

    @property
    def _parameters(self) -> pd.DataFrame:
        """The rows of all tables, by the names of the parameters."""
        named = [
            table.set_axis(prefix + table["factor"] + "[T." + table["level"] + "]")
            for prefix, table in (("", self.coefficients), ("log_sigma:", self.scale))
            if table is not None
        ]
        return pd.concat([named[0], self.thresholds.set_index("threshold"), *named[1:]]).rename_axis(None)

    @property
    def _numbers(self) -> list[Floats]:
        return [self._parameters[name].to_numpy(np.float64) for name in ("estimate", "std_err", "df")]

    def predict(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of each level of the outcome in each row of ``data``.

        ``P(Y = k) = F((theta_k - x'beta) / sigma) - F((theta_{k-1} - x'beta) / sigma)``; with random intercepts, in a
        group whose intercepts are 0. A row that needs an estimate that does not exist is NaN.

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
        distance = self.thresholds["estimate"].to_numpy() - _sums(self.coefficients, data)[:, None]
        below = LINKS[self.link].cdf(distance / np.exp(_sums(self.scale, data))[:, None])
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


def _sums(table: pd.DataFrame | None, data: pd.DataFrame) -> Floats:
    """Return what the terms of ``table`` add up to in each row of ``data``."""
    total = np.zeros(len(data))
    for factor, rows in [] if table is None else table.groupby("factor", sort=False):
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
