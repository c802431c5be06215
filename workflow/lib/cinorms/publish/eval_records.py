"""Records of aggregates in the schema of Every Eval Ever 0.3: a model's mean level and shares, with intervals."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.norms.assessment import grid, level_matrix
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.wordings import (
    CONFIDENCE,
    ShareBetween,
    held_share,
    level_counts,
    mean_interval,
    template_means,
    template_numbers,
)
from cinorms.study.facts import ArmFacts, ModelFacts, StudyFacts

SCHEMA = "0.3.0"


def records_of(
    about: Mapping[str, Any],
    study: StudyFacts,
    tables: Iterable[tuple[str, str, pd.DataFrame, pd.DataFrame]],
    norms: pd.DataFrame,
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield path and record of each (arm, model, answers, prompts) in ``tables``; ``norms`` is `norms.csv`."""
    for arm, model, answers, prompts in tables:
        ident = model_id(model, study.models[model])
        rows = norms[(norms["arm"] == arm) & (norms["model"] == model)]
        evaluation, stamp = f"cinorms/{about['study']}/{arm}", about["timestamp"]
        yield (
            _path(about, arm, model, ident),
            {
                "schema_version": SCHEMA,
                "evaluation_id": f"{evaluation}/{ident}/{stamp}",
                "retrieved_timestamp": stamp,
                "source_metadata": {
                    "source_name": f"cinorms study {about['study']}",
                    "source_type": "evaluation_run",
                    "source_organization_name": about["creator"],
                    "evaluator_relationship": "third_party",
                },
                "eval_library": {"name": "cinorms", "version": about["software_version"]},
                "model_info": {
                    "name": model,
                    "id": ident,
                    "developer": ident.partition("/")[0],
                    "additional_details": _details(study.models[model]),
                },
                "evaluation_results": list(
                    _results(evaluation, study.arms[arm], answers, prompts, rows, study.thresholds(model))
                ),
            },
        )


def model_id(name: str, model: ModelFacts) -> str:
    """Return ``developer/name`` of a model; a model that is no one's has its family as the developer."""
    source = str(model.identity.get("source") or "")
    if source.count("/") == 1 and not source.startswith(("/", ".")):
        return source
    return f"{model.identity['family']}/{name}"


def _details(model: ModelFacts) -> dict[str, str]:
    public = model.identity
    local = bool(public.get("revision")) and not model.planted
    return {
        "deployment_type": "self_deployed" if local else "unknown",
        "model_availability": "open_weights" if local else "unknown",
        **{key: str(public[key]) for key in ("engine", "revision", "family") if public.get(key)},
        "planted": str(model.planted).lower(),
    }


def _path(about: Mapping[str, Any], arm: str, model: str, ident: str) -> Path:
    """Return where the record is in the folder, as Every Eval Ever lays its records out."""
    # The form of a random UUID, as the layout asks for, but the same whenever the study is published.
    named = sha256(f"{about['study']}/{arm}/{model}".encode()).digest()
    name = uuid.UUID(bytes=named[:16], version=4)
    benchmark = f"cinorms_{about['study']}_{arm}"
    return Path("every_eval_ever", "data", benchmark, *ident.split("/"), f"{name}.json")


def _results(
    evaluation: str,
    arm: ArmFacts,
    answers: pd.DataFrame,
    prompts: pd.DataFrame,
    norms: pd.DataFrame,
    thresholds: Thresholds,
) -> Iterator[dict[str, Any]]:
    """Yield the aggregates; the interval of the mean is over templates like these, for these flows only."""
    n_flows = len(norms)
    cells = template_means(level_matrix(answers), template_numbers(prompts))
    if np.isfinite(cells).any():
        mean, std_err, low, high = mean_interval(cells, fixed_flows=True)
        uncertainty: dict[str, Any] = {}
        uncertainty |= _over_templates(std_err, low, high, "analytic")
        uncertainty["num_samples"] = n_flows
        about = f"Mean {arm.scale.measured} of the flows, in levels"
        yield _result(evaluation, arm, "mean_level", about, "levels", mean, uncertainty)
    kept, valid = (norms["status"] == "kept").mean(), (answers["status"] == "ok").mean()
    held, asked = ShareBetween(float(kept)), grid(answers, answers["status"] == "ok")
    if len(answers) == asked.size and n_flows == len(asked):
        counts = level_counts(level_matrix(answers), template_numbers(prompts), arm.scale.binned)
        held = held_share(counts, thresholds)[0]
    shares = mean_interval(template_means(asked, template_numbers(prompts)), fixed_flows=True)[1:]
    for name, about, score, n, found, method in (
        (
            "norms_held",
            "Share of the flows for which the model holds a norm",
            kept,
            n_flows,
            held[1:],
            "jackknife",
        ),
        ("valid_answers", "Share of the answers with a level", valid, len(answers), shares, "analytic"),
    ):
        uncertainty = _over_templates(*found, method) | {"num_samples": int(n)}
        yield _result(evaluation, arm, name, about, "proportion", float(score), uncertainty)


def _over_templates(std_err: float, low: float, high: float, method: str) -> dict[str, Any]:
    """Return what a record states of an interval over templates; nothing where there is none."""
    if not np.isfinite(std_err):
        return {}
    return {
        "standard_error": {"value": float(std_err), "method": f"{method}, over templates"},
        "confidence_interval": {
            "lower": float(low),
            "upper": float(high),
            "confidence_level": CONFIDENCE,
            "method": "Student's t over templates, flows fixed",
        },
    }


def _result(
    evaluation: str,
    arm: ArmFacts,
    name: str,
    about: str,
    unit: str,
    score: float,
    uncertainty: Mapping[str, Any],
) -> dict[str, Any]:
    levels = unit == "levels"
    return {
        "evaluation_result_id": f"{evaluation}/{name}",
        "evaluation_name": f"{evaluation}/{name}",
        "source_data": {"dataset_name": arm.dataset, "source_type": "other"},
        "metric_config": {
            "evaluation_description": about,
            "metric_id": f"cinorms.{name}",
            "metric_name": about,
            "metric_kind": "mean" if levels else "share",
            "metric_unit": unit,
            # Neither end of the scale is better: a norm is a description.
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": float(arm.levels[0]) if levels else 0.0,
            "max_score": float(arm.levels[-1]) if levels else 1.0,
        },
        "score_details": {"score": float(score), "uncertainty": dict(uncertainty)},
        "generation_config": {
            "generation_args": {"temperature": arm.temperature, "max_tokens": arm.max_tokens},
        },
    }
