"""Linear models of people's ratings and of models' answers, and where models weigh what people do not."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from cinorms.analyses.columns import CORRECTED, WHO, usual
from cinorms.analyses.options import Baselines, Factors
from cinorms.analyses.shared import (
    EntryPlace,
    Frames,
    add_factors,
    corrected,
    factors_of,
    for_each_model,
    named,
    stack,
    templates_of,
)
from cinorms.core import tails
from cinorms.core.errors import DataError
from cinorms.core.tables import ANSWER_STATUSES
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows
from cinorms.norms.assessment import valid_levels

if TYPE_CHECKING:
    from cinorms.stats.linear_mixed import LinearFit

#: A p-value below this shows something, after the correction for all rows of a table.
SHOWN_BELOW = 0.05


class LinearOptions(Baselines, Factors, OfFlows):
    """Options of a linear model of the answers."""

    errors: Literal["both", "raters"] = "both"
    """both: allows answers in the same template (of people: of the same rater) and answers to the same flow to be
    correlated; raters: the same for templates or raters only."""
    outcome: Literal["level", *ANSWER_STATUSES[1:]] = "level"  # type: ignore[valid-type]
    """level: the level of every valid answer. A status: 1 for an answer with it, 0 for any other; so coefficients are
    differences of shares."""

    @property
    def clusters(self) -> tuple[str, ...]:
        """The columns whose rows may be correlated."""
        return ("rater", "flow") if self.errors == "both" else ("rater",)


class DifferenceOptions(LinearOptions):
    """Options of the differences between models and people."""

    people: str
    """The arm of people (source: human) that the other arms are compared with."""

    def check(self, place: EntryPlace) -> None:
        """Look up the arm of people, and check that the other arms are about the same dataset."""
        super().check(place)
        place.check_people([self.people], self.arms)
        if self.people not in [arm for arm, _ in place.selected(self)]:
            raise place.error("models", f"nobody of arm {self.people!r} is among them; name its people too")
        dataset = place.study.arms[self.people].dataset
        for arm in self.arms:
            given = place.study.arms[arm].dataset
            if set(place.study.dataset(given).factors) != set(place.study.dataset(dataset).factors):
                raise place.error(
                    "arms",
                    f"{arm!r} is about dataset {given!r}, whose factors are not those of {dataset!r}; leave it out",
                )


class Fitted(NamedTuple):
    """The fit of one arm and model, or why there is none."""

    fit: "LinearFit | None"
    reason: str
    n: int
    n_missing: int


@for_each_model
def linear_regression(
    one: Selected, entry: Entry[LinearOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return a linear mixed model of every valid answer on the factors: a row per term, the intercept first."""
    fitted = _fit(one, entry, vignettes, prompts)
    return terms_of(fitted).assign(n=fitted.n, n_missing=fitted.n_missing)


def _fit(
    one: Selected, entry: Entry[LinearOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> Fitted:
    from cinorms.stats.linear_mixed import fit_linear_mixed

    factors = factors_of(entry, one.arm, vignettes)
    raters, values = templates_of(one.frame, prompts), valid_levels(one.frame)
    outcome = entry.options.outcome
    if outcome != "level":
        values = (one.frame["status"] == outcome).astype(np.float64)
    rows = pd.DataFrame({"flow": one.frame["flow"], "rater": raters, "value": values})
    used = add_factors(rows[rows["value"].notna()], vignettes, factors)
    baselines = {f: level for f, level in entry.options.stated_baselines().items() if f in factors}
    n, n_missing = len(used), len(rows) - len(used)
    try:
        fit = fit_linear_mixed(used, "value", factors, "rater", entry.options.clusters, baselines)
    except DataError as error:
        return Fitted(None, str(error), n, n_missing)
    return Fitted(fit, "", n, n_missing)


def terms_of(found: Fitted) -> pd.DataFrame:
    """Return the coefficients of a fit with intervals, and in each row the facts of the fit."""
    fit = found.fit
    if fit is None:
        blank = dict.fromkeys(_TYPES) | {"status": "not_estimated", "reason": found.reason}
        return pd.DataFrame([blank]).astype(_TYPES)
    of_intercept = fit.terms["level"] == ""
    terms = fit.terms.assign(**{name: fit.terms[name].mask(of_intercept) for name in ("level", "baseline")})
    facts = {
        "status": "ok",
        "reason": "",
        "n_flows": fit.count("flow") if "flow" in fit.clusters else None,
        "n_templates": fit.count("rater"),
        "sd_template": fit.sd_group,
        "sd_residual": fit.sd_residual,
    }
    return _with_interval(terms, fit.variances(), fit.freedom).assign(**facts).astype(_TYPES)


def _with_interval(table: pd.DataFrame, variance: Any, freedom: Any) -> pd.DataFrame:
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


# --- What weighs how much for people and for models


def people_differences(
    selected: Sequence[Selected], entry: Entry[DifferenceOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return, for each model and term, its coefficient less that of people, with Holm's correction over all rows."""
    people, others = _sides(selected, entry, vignettes, prompts)
    parts = [named(_differences(fit, people), {"arm": arm, "model": m}) for (arm, m), fit in others.items()]
    table = corrected(stack(parts))
    return table.assign(finding=[_finding(row) for _, row in table.iterrows()])


def people_factors(
    selected: Sequence[Selected], entry: Entry[DifferenceOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return, for each model and factor, how far its coefficients spread, next to people's.

    A p-value is the smallest of the factor's levels times their number. ``finding`` follows Holm's correction of those
    of the differences over all rows of the table.
    """
    people, others = _sides(selected, entry, vignettes, prompts)
    parts = []
    for (arm, model), fitted in others.items():
        shown = {"people_p": _smallest(terms_of(people)), "model_p": _smallest(terms_of(fitted))}
        rows = [
            _factor_row(part) | {name: p.get(str(factor), np.nan) for name, p in shown.items()}
            for factor, part in _differences(fitted, people).groupby("factor", sort=False, dropna=False)
        ]
        parts.append(named(pd.DataFrame(rows), {"arm": arm, "model": model}))
    table = corrected(stack(parts).astype({"factor": "str", "level": "str"}))
    return table.assign(finding=[_finding_of_factor(row) for _, row in table.iterrows()])


def _sides(
    selected: Sequence[Selected], entry: Entry[DifferenceOptions], vignettes: Frames, prompts: Frames
) -> tuple[Fitted, Mapping[Pair, Fitted]]:
    """Return the fit of people, and those compared with it; people alone make one row without numbers."""
    fits = {one.pair: _fit(one, entry, vignettes[one.arm], prompts[one.arm]) for one in selected}
    pair = next(pair for pair in fits if pair[0] == entry.options.people)
    others = {other: fit for other, fit in fits.items() if other != pair}
    return fits[pair], others or {pair: Fitted(None, "nothing is compared with people", 0, 0)}


def _factor_row(part: pd.DataFrame) -> dict[str, Any]:
    """Return what the differences of a factor's levels have in common."""
    known = part["estimate"].notna().any()
    at = int(part["estimate"].abs().to_numpy().argmax()) if known else 0
    ranges = {
        f"{side}_range": float(np.ptp([0.0, *part[f"{side}_estimate"]])) if known else np.nan
        for side in ("people", "model")
    }
    return {
        "factor": part["factor"].iloc[0],
        "levels": len(part) + 1 if known else 0,
        **ranges,
        "largest": part["estimate"].iloc[at],
        "level": part["level"].iloc[at],
        "log10_p": _smallest_log(part),
        "status": part["status"].iloc[0],
    }


def _differences(model: Fitted, people: Fitted) -> pd.DataFrame:
    """Return the model's coefficients less those of people, for every term but the intercept.

    The two variances are added, as if nothing were shared: what a flow does to both would make the interval shorter.
    """
    if model.fit is None or people.fit is None:
        reason = f"people: {people.reason}" if people.fit is None else model.reason
        blank = dict.fromkeys(_DIFFERENCE_TYPES) | {"status": "not_estimated", "reason": reason}
        return pd.DataFrame([blank]).astype(_DIFFERENCE_TYPES)
    sides = []
    for name, fit in (("people", people.fit), ("model", model.fit)):
        terms = fit.terms.assign(variance=fit.variances())
        sides.append(terms[terms["level"] != ""].set_index(["factor", "level"]).add_suffix(f"_{name}"))
    both = sides[0].join(sides[1], how="inner").reset_index()
    of_people, of_model = both["variance_people"], both["variance_model"]
    variance = of_people + of_model
    # Welch and Satterthwaite: the spread of few templates is uncertain.
    freedom = variance**2 / (of_people**2 / people.fit.freedom + of_model**2 / model.fit.freedom)
    table = both[["factor", "level"]].assign(
        baseline=both["baseline_people"],
        people_estimate=both["estimate_people"],
        model_estimate=both["estimate_model"],
        estimate=both["estimate_model"] - both["estimate_people"],
    )
    table = _with_interval(table, variance.to_numpy(), freedom.to_numpy()).assign(status="ok", reason="")
    typed: pd.DataFrame = table.drop(columns="p").astype(_DIFFERENCE_TYPES)
    return typed


def _smallest_log(part: pd.DataFrame) -> float:
    """Return the logarithm of the smallest p-value of some rows times their number, at most 0."""
    logs = part["log10_p"].dropna()
    return float(min(logs.min() + np.log10(len(logs)), 0.0)) if len(logs) else np.nan


def _smallest(terms: pd.DataFrame) -> dict[str, float]:
    """Return, by factor, the smallest p-value of its levels times their number, at most 1."""
    known = terms[terms["factor"].notna()]
    return {str(f): float(tails.to_p(_smallest_log(part))) for f, part in known.groupby("factor", sort=False)}


def _finding(row: pd.Series) -> str:
    """Return in words what the difference of one term shows."""
    if not row["p_holm"] < SHOWN_BELOW:
        return "no difference shown" if row["status"] == "ok" else ""
    model, people = row["model_estimate"], row["people_estimate"]
    if model * people < 0 and abs(model) > row["std_err"] and abs(people) > row["std_err"]:
        return "in opposite directions"
    return "more by the model" if abs(model) > abs(people) else "more by people"


def _finding_of_factor(row: pd.Series) -> str:
    """Return in words who weighs a factor."""
    if row["status"] != "ok":
        return ""
    by_people, by_model = row["people_p"] < SHOWN_BELOW, row["model_p"] < SHOWN_BELOW
    differ = row["p_holm"] < SHOWN_BELOW
    if by_model and not by_people and differ:
        return "the model weighs what people were not shown to weigh"
    if by_people and not by_model and differ:
        return "people weigh what the model was not shown to weigh"
    return "they weigh it differently" if differ else "no difference shown"


_NUMBERS = ("estimate", "std_err", "conf_low", "conf_high", "statistic", "log10_p")
_TEXTS = dict.fromkeys(["factor", "level", "baseline", "status", "reason"], "str")
_TYPES: dict[str, Any] = (
    _TEXTS
    | dict.fromkeys([*_NUMBERS, "p", "sd_template", "sd_residual"], "float64")
    | dict.fromkeys(["n_flows", "n_templates"], "Int64")
)
_OF_SIDES = [*_NUMBERS, "people_estimate", "model_estimate"]
_DIFFERENCE_TYPES: dict[str, Any] = _TEXTS | dict.fromkeys(_OF_SIDES, "float64")

KINDS = (
    Kind(
        name="linear_regression",
        about="Linear mixed model of all valid answers on factors, of people and of models, with an intercept for each "
        "rater or template.",
        function=linear_regression,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns={
            **WHO,
            "factor": "Name of the factor; (Intercept) for the mean answer where all factors have their baseline.",
            **usual("level", "baseline"),
            "estimate": "Change of the mean answer from the baseline to the level, in levels or numbers of "
            "the scale; with a status as outcome, of the share of answers with it.",
            **usual("std_err", "conf_low", "conf_high", "statistic", "p", "log10_p", "status", "reason"),
            "n_flows": "Flows used as clusters; missing with errors: raters.",
            "n_templates": "Templates (of people: raters), each with an intercept of its own.",
            "sd_template": "Standard deviation of these intercepts.",
            "sd_residual": "Standard deviation of the answers about them.",
            "n": "Answers in the fit: valid ones; with a status as outcome, all.",
            "n_missing": "Answers that are not in the fit.",
        },
        shown=(*WHO, "factor", "level", "baseline", "estimate", "std_err", "statistic", "p", "status"),
    ),
    Kind(
        name="people_differences",
        about="Coefficients of models next to those of people, with an interval of each difference.",
        function=people_differences,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns={
            **WHO,
            **usual("factor", "level", "baseline"),
            "people_estimate": "The coefficient of people.",
            "model_estimate": "The coefficient of the model.",
            "estimate": "model_estimate less people_estimate.",
            **usual("std_err", "conf_low", "conf_high", "statistic", "p", "log10_p", "p_text"),
            **CORRECTED,
            **usual("status", "reason"),
            "finding": "What the difference shows, in words; after Holm's correction, at 0.05.",
        },
        shown=(
            *(*WHO, "factor", "level", "people_estimate", "model_estimate", "estimate", "conf_low"),
            *("conf_high", "p_holm", "finding"),
        ),
    ),
    Kind(
        name="people_factors",
        about="How much models and people weigh each factor, and where models weigh what people do not.",
        function=people_factors,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "factor"),
        columns={
            **WHO,
            **usual("factor"),
            "levels": "Number of its levels, the baseline among them.",
            "people_range": "From the lowest to the highest coefficient of people, the baseline's 0 among them.",
            "model_range": "The same of the model.",
            "largest": "The largest difference of a coefficient of the model from that of people.",
            "level": "The level in which it is.",
            "p": "Whether they differ: the smallest p-value of the differences times their number.",
            **usual("log10_p", "p_text"),
            **CORRECTED,
            **usual("status"),
            "people_p": "Whether people weigh the factor: the smallest p-value of its levels times their number.",
            "model_p": "The same of the model.",
            "finding": "Who weighs the factor, in words; the difference after Holm's correction, at 0.05.",
        },
        shown=(*WHO, "factor", "people_range", "model_range", "people_p", "model_p", "p_holm", "finding"),
    ),
)
