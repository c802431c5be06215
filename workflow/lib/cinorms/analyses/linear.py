"""Kind ``linear_regression``: a linear model of people's ratings, or of a model's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import (
    BASELINE,
    FACTOR,
    INTERVAL,
    LEVEL,
    LOG10_P,
    REASON,
    STATISTIC,
    STATUS,
    WHO,
    P,
    names,
)
from cinorms.analyses.options import Baselines, Factors
from cinorms.analyses.shared import add_factors, chosen_each, named, stack, templates_of, usual_factors
from cinorms.core import tails
from cinorms.core.errors import DataError
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfFlows
from cinorms.norms.assessment import valid_levels

if TYPE_CHECKING:
    from cinorms.stats.linear_mixed import LinearFit

#: A p-value below this shows something, after the correction for all rows of a table.
SHOWN_BELOW = 0.05


class LinearOptions(Baselines, Factors, OfFlows):
    """Options of a linear model of the answers."""

    errors: Literal["both", "raters"] = Field(
        "both",
        description="both: allows answers in the same template (of people: of the same rater) and answers to the same "
        "flow to be correlated; raters: the same for templates or raters only.",
    )

    @property
    def clusters(self) -> tuple[str, ...]:
        """The columns whose rows may be correlated."""
        return ("rater", "flow") if self.errors == "both" else ("rater",)


class Fitted(NamedTuple):
    """The fit of one arm and model, or why there is none."""

    fit: LinearFit | None
    reason: str
    n: int
    n_missing: int


def linear_regression(
    selected: Sequence[Selected],
    entry: Entry[LinearOptions],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return a linear mixed model of every valid answer on the factors: a row per term, the intercept first."""
    parts = []
    for (arm, model), found in fits_of(selected, entry, vignettes, prompts).items():
        table = terms_of(found)
        parts.append(named(table.assign(n=found.n, n_missing=found.n_missing), {"arm": arm, "model": model}))
    return stack(parts)


def fits_of(
    selected: Sequence[Selected],
    entry: Entry[Any],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
) -> dict[Pair, Fitted]:
    """Return the fit of each arm and model."""
    from cinorms.stats.linear_mixed import fit_linear_mixed

    found: dict[Pair, Fitted] = {}
    for one in chosen_each(selected, entry, vignettes):
        factors = list(entry.options.factors or usual_factors(vignettes[one.arm], entry.factors_of[one.arm]))
        rows = pd.DataFrame(
            {
                "flow": one.frame["flow"],
                "rater": templates_of(one.frame, prompts[one.arm]),
                "value": valid_levels(one.frame),
            }
        )
        used = add_factors(rows[rows["value"].notna()], vignettes[one.arm], factors)
        baselines = {f: level for f, level in entry.options.stated_baselines().items() if f in factors}
        n_missing = len(rows) - len(used)
        try:
            fit = fit_linear_mixed(used, "value", factors, "rater", entry.options.clusters, baselines)
            found[one.arm, one.model] = Fitted(fit, "", len(used), n_missing)
        except DataError as error:
            found[one.arm, one.model] = Fitted(None, str(error), len(used), n_missing)
    return found


def terms_of(found: Fitted) -> pd.DataFrame:
    """Return the coefficients of a fit with intervals, and in each row the facts of the fit."""
    fit = found.fit
    if fit is None:
        blank = dict.fromkeys(names(*_OF_TERMS)) | {"status": "not_estimated", "reason": found.reason}
        return pd.DataFrame([blank]).drop(columns=["n", "n_missing"]).astype(_TYPES)
    of_intercept = fit.terms["level"] == ""
    terms = fit.terms.assign(**{name: fit.terms[name].mask(of_intercept) for name in ("level", "baseline")})
    table = with_interval(terms, fit.variances(), fit.freedom)
    facts = {
        "status": "ok",
        "reason": "",
        "n_flows": fit.count("flow") if "flow" in fit.clusters else None,
        "n_templates": fit.count("rater"),
        "sd_template": fit.sd_group,
        "sd_residual": fit.sd_residual,
    }
    return table.assign(**facts).astype(_TYPES)


def with_interval(table: pd.DataFrame, variance: Any, freedom: Any) -> pd.DataFrame:
    """Return the table with errors, tests and 95% intervals of its column ``estimate``, by Student's t."""
    from scipy.special import stdtrit

    estimate, std_err = table["estimate"].to_numpy(dtype=np.float64), np.sqrt(variance)
    freedom = np.broadcast_to(np.asarray(freedom, dtype=np.float64), estimate.shape)
    reach = stdtrit(freedom, 0.975) * std_err
    statistic = estimate / std_err
    log10_p = np.array([tails.student(t, df) for t, df in zip(statistic, freedom, strict=True)])
    return table.assign(
        std_err=std_err,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        statistic=statistic,
        p=tails.to_p(log10_p),
        log10_p=log10_p,
    )


NUMBERS = ("estimate", "std_err", "conf_low", "conf_high", "statistic", "log10_p")
_OF_TERMS = (
    FACTOR._replace(
        about="Name of the factor; (Intercept) for the mean answer where all factors have their baseline."
    ),
    LEVEL,
    BASELINE,
    Column(
        "estimate",
        "Change of the mean answer from the baseline to the level, in levels or numbers of the scale.",
    ),
    *INTERVAL,
    STATISTIC,
    P,
    LOG10_P,
    STATUS,
    REASON,
    Column("n_flows", "Flows used as clusters; missing with errors: raters."),
    Column("n_templates", "Templates (of people: raters), each with an intercept of its own."),
    Column("sd_template", "Standard deviation of these intercepts."),
    Column("sd_residual", "Standard deviation of the answers about them."),
    Column("n", "Valid answers in the fit."),
    Column("n_missing", "Invalid answers."),
)
TEXTS = dict.fromkeys(["factor", "level", "baseline", "status", "reason"], "str")
_TYPES: dict[str, Any] = (
    TEXTS
    | dict.fromkeys([*NUMBERS, "p", "sd_template", "sd_residual"], "float64")
    | dict.fromkeys(["n_flows", "n_templates"], "Int64")
)
_ALSO: Any = ("vignettes", "prompts")

KINDS = (
    Kind(
        name="linear_regression",
        about="Linear mixed model of all valid answers on factors, of people and of models, with an intercept for each "
        "rater or template.",
        options=LinearOptions,
        function=linear_regression,
        reads="answers",
        also=_ALSO,
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns=(*WHO, *_OF_TERMS),
        shown=(*names(*WHO, FACTOR, LEVEL, BASELINE), "estimate", "std_err", "statistic", "p", "status"),
    ),
)
