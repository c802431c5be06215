"""Norm cards: a model's norms as a section of its model card, for its developer to publish."""

import json
import re
from dataclasses import asdict
from typing import Any

import pandas as pd
from markupsafe import Markup

from cinorms.core.filling import environment
from cinorms.core.labels import PEOPLE_MARK, PLANTED_MARK, SIMULATED_MARK, STATUS_LABELS, share
from cinorms.core.version import version
from cinorms.norms.thresholds import norm_needs
from cinorms.report import words
from cinorms.report.findings import said_and_done
from cinorms.report.results import StudyResults
from cinorms.report.standing import standings

#: Flows that a card names as most accepted, and as least accepted.
NAMED_FLOWS = 5

#: What every reader of a card must know.
LIMITS = (
    "A norm here is what the model says consistently in these wordings and answer orders. It is not what the model "
    "does with data, and not what is right.",
    "A flow without a norm is not neutral: the model did not answer it consistently enough.",
    "Flows are all combinations of the dataset's levels, including implausible ones. Shares over them do not show "
    "how often such flows happen.",
    "Other wordings, languages, contexts, system prompts and versions of the model can give other norms.",
)

#: The same of a card of people.
LIMITS_OF_PEOPLE = (
    "A norm here is what most of the people who rated a flow agree on. It is not what is right, nor what people do.",
    "A flow without a norm is not neutral: the people who rated it did not agree enough, or too few rated it.",
    LIMITS[2],
    "Other people, and other questions to them, can give other norms.",
)

#: What a card has of a row of kind ``mean_delta``.
_DELTA = ("mean_signed", "mean_absolute", "n", "status", "reason")
#: Characters with a meaning in Markdown inside a line; no line begins with text from data.
_SPECIAL = re.compile(r"([\\`*_{}\[\]!|~&$])")


def make_card(results: StudyResults, model: str) -> dict[str, Any]:
    """Return the card of ``model`` as plain data: the JSON file, and the source of the Markdown file."""
    study = results.study
    people = all(results.is_people(arm) for arm, other in results.norms if other == model)
    # None where another arm of the study has more norms, and the model is not in it.
    stands = [row for row in standings(results) if row.model == model]
    return {
        "card": "cinorms norm card",
        "version": 1,
        "cinorms": version(),
        "study": study.name,
        "model": model,
        "planted": study.models[model].planted,
        "people": people,
        "identity": dict(study.models[model].identity),
        "standing": asdict(stands[0]) if stands else None,
        "says": stands[0].sentence if stands else "",
        "does": said_and_done(results, model),
        "norm_needs": {"t_val": study.t_val[model], "t_maj": study.t_maj, "consensus": study.consensus},
        "arms": [_arm(results, arm, other) for arm, other in results.norms if other == model],
        "limits": list(LIMITS_OF_PEOPLE if people else LIMITS),
    }


def _arm(results: StudyResults, arm: str, model: str) -> dict[str, Any]:
    settings, codes, norms = results.study.arms[arm], results.codes[arm, model], results.norms[arm, model]
    held, status = results.held(arm, model), results.status(arm, model)
    kept = norms[(status == "kept").to_numpy()]
    delta = results.row_of("mean_delta", arm, model)
    return {
        "arm": arm,
        "dataset": results.study.dataset_of(arm).title,
        "prompts": settings.prompts,
        "variants": int(norms["n_asked"].max()),
        "raters": settings.people,
        "simulated": settings.simulated,
        "orders": "one per wording" if settings.orders["count"] == 1 else settings.orders["method"],
        "temperature": settings.temperature,
        "options": list(results.scale(arm).options),
        "says": asdict(results.scale(arm).spoken),
        "answers": codes.n_asked,
        "valid": codes.n_valid,
        "invalid": codes.invalid(),
        "flows": len(norms),
        "dependence": results.row_of("flow_dependence", arm, model).get("verdict_text"),
        "norms": {name: int(n) for name, n in status.value_counts().items()},
        "levels": {str(level): int((held == level).sum()) for level in results.scale(arm).levels},
        "by_factor": _by_factor(results, arm, held),
        "most_accepted": _extremes(results, arm, kept, best=True),
        "least_accepted": _extremes(results, arm, kept, best=False),
        # How far the mean answers are from expected values, if an analysis of the study computes it.
        "delta": {name: delta[name] for name in _DELTA} if delta else None,
        "distances": _distances(results, arm, model),
    }


def _rounded(number: Any, digits: int) -> float | None:
    return None if pd.isna(number) else round(float(number), digits)


def _by_factor(results: StudyResults, arm: str, held: pd.Series) -> list[dict[str, Any]]:
    """Return for every level of every factor how many norms there are, and how many accept or reject."""
    flows, middle = results.flows(arm), results.scale(arm).middle
    asked = flows[flows["flow"].isin(pd.concat([results.norms[p]["flow"] for p in results.pairs(arm)]))]
    rows = []
    for factor in results.factors(arm):
        for level, part in asked.groupby(factor, observed=True):
            value = held[held.index.isin(part["flow"])]
            rows.append(
                {"factor": factor, "level": str(level), "flows": len(part), "norms": len(value)}
                | {"accepted": int((value > middle).sum()), "rejected": int((value < middle).sum())}
            )
    return rows


def _extremes(results: StudyResults, arm: str, kept: pd.DataFrame, best: bool) -> list[dict[str, Any]]:
    """Return the flows with the highest (or lowest) norm, the most consistent ones first."""
    order = kept.sort_values(["value", "share", "flow"], ascending=[not best, False, True])
    named = order.head(NAMED_FLOWS).merge(results.flows(arm)[["flow", "vignette"]], on="flow")
    return [
        {"flow": int(row["flow"]), "vignette": row["vignette"], "value": int(row["value"])}
        | {"share": _rounded(row["share"], 4), "valid": int(row["n_valid"])}
        for row in named.to_dict("records")
    ]


def _distances(results: StudyResults, arm: str, model: str) -> list[dict[str, Any]]:
    """Return, for each group of people and the expected values, the distance, the ceiling and the flows that differ."""
    distances = next(results.tables_of("people_distances", arm, model), None)
    flows = next(results.tables_of("people_flows", arm, model), None)
    if distances is None:
        return []
    rows = []
    for row in distances[(distances["metric"] == "rms") & (distances["status"] == "ok")].to_dict("records"):
        verdicts = None if flows is None else flows.loc[flows["baseline"] == row["baseline"], "verdict"]
        rows.append(
            {"baseline": row["baseline"], "verdict": row["verdict"], "flows": int(row["n_flows"])}
            | {name: _rounded(row[name], 2) for name in ("estimate", "conf_low", "conf_high", "ceiling_all")}
            | {
                name: None if verdicts is None else int((verdicts == f"model {side}").sum())
                for name, side in (("more", "higher"), ("less", "lower"))
            }
        )
    return rows


# --- Markdown


def escape(text: object) -> str:
    """Return ``text`` so that Markdown shows it as it is, on one line and without HTML."""
    flat = _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", str(text)))
    return flat.replace("<", "&lt;").replace(">", "&gt;")


def card_json(card: dict[str, Any]) -> str:
    """Return the card as JSON."""
    return json.dumps(card, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def card_markdown(card: dict[str, Any]) -> str:
    """Return the card as Markdown. Everything that comes from data, models or settings is escaped."""
    made = environment(
        "report",
        autoescape=False,
        # The template marks its macros' output as safe: their values are already escaped.
        finalize=lambda value: value if isinstance(value, Markup) else escape(value),
    )
    made.globals.update(vars(words), share=share, STATUS_LABELS=STATUS_LABELS)
    needs = norm_needs({card["model"]: card["norm_needs"]["t_val"]}, card["norm_needs"]["t_maj"])
    simulated = all(arm["simulated"] for arm in card["arms"])
    marks = {"mark": PLANTED_MARK, "people_mark": SIMULATED_MARK if simulated else PEOPLE_MARK}
    called = card["identity"].get("label", card["model"])
    return made.get_template("card.md").render(card=card, called=called, needs=needs, **marks)
