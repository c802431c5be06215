"""Kinds of analyses, figures and printed tables: what each reads, and which function makes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cinorms.core import tables


class Selected(NamedTuple):
    """One model's table in one arm."""

    arm: str
    model: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Kind:
    """``function`` of ``cinorms.{module}`` makes it from the tables of ``stage``.

    The function is called with the selected tables, the entry, and by name what ``also`` lists:
    ``answers``, ``norms`` (as the selected tables), ``vignettes``, ``prompts`` (a table per arm),
    ``planted``, ``coefficients`` (what was planted, per arm and model; of planted respondents only),
    ``expected`` (path of the CSV file of expected values that the entry names, or None).
    ``columns`` are those that the LaTeX table shows, all where empty.
    """

    stage: str
    module: str
    function: str
    also: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        """Return the function, importing what it needs only now."""
        return getattr(import_module(f"cinorms.{self.module}"), self.function)  # type: ignore[no-any-return]


KINDS = {
    "analyses": {
        "answer_counts": Kind("answers", "analyses.counts", "answer_counts"),
        "norm_counts": Kind("norms", "analyses.counts", "norm_counts"),
        "ordinal_regression": Kind(
            "norms",
            "analyses.regression",
            "ordinal_regression",
            also=("vignettes",),
            columns=(
                "arm",
                "model",
                "term",
                "level",
                "baseline",
                "estimate",
                "std_err",
                "statistic",
                "p",
                "status",
            ),
        ),
        "proportional_odds": Kind("norms", "analyses.regression", "proportional_odds", also=("vignettes",)),
        "response_regression": Kind(
            "answers",
            "analyses.regression",
            "response_regression",
            also=("vignettes", "prompts"),
            columns=(
                "arm",
                "model",
                "term",
                "level",
                "baseline",
                "estimate",
                "std_err",
                "statistic",
                "p",
                "status",
            ),
        ),
        "model_tests": Kind(
            "norms",
            "analyses.between",
            "model_tests",
            also=("vignettes",),
            columns=(
                "arm",
                "compared",
                "test",
                "n",
                "statistic",
                "df",
                "p",
                "effect",
                "effect_size",
                "status",
            ),
        ),
        "model_pairs": Kind(
            "norms",
            "analyses.between",
            "model_pairs",
            also=("vignettes",),
            columns=(
                "arm_a",
                "model_a",
                "arm_b",
                "model_b",
                "test",
                "n",
                "statistic",
                "p",
                "p_bonferroni",
                "p_holm",
                "p_bh",
                "effect_size",
                "status",
            ),
        ),
        "normality": Kind("norms", "analyses.between", "normality", also=("vignettes",)),
        "model_contrasts": Kind(
            "answers",
            "analyses.between",
            "model_contrasts",
            also=("vignettes", "prompts"),
            columns=(
                "arm_a",
                "model_a",
                "arm_b",
                "model_b",
                "n_flows",
                "n_units",
                "estimate",
                "std_err",
                "conf_low",
                "conf_high",
                "p",
                "p_holm",
                "status",
            ),
        ),
        "agreement_pairs": Kind("norms", "analyses.between", "agreement_pairs", also=("vignettes",)),
        "agreement_sets": Kind("norms", "analyses.between", "agreement_sets", also=("vignettes",)),
        "marginal_means": Kind(
            "answers",
            "analyses.effects",
            "level_means",
            also=("vignettes", "prompts"),
            columns=(
                "arm",
                "model",
                "factor",
                "level",
                "n",
                "mean",
                "std_err",
                "conf_low",
                "conf_high",
                "status",
            ),
        ),
        "amce": Kind(
            "answers",
            "analyses.effects",
            "level_effects",
            also=("vignettes", "prompts"),
            columns=(
                "arm",
                "model",
                "factor",
                "level",
                "baseline",
                "n",
                "estimate",
                "std_err",
                "conf_low",
                "conf_high",
                "status",
            ),
        ),
        "reliability": Kind(
            "answers", "analyses.quality", "reliability_of_models", also=("norms", "prompts")
        ),
        "position_effects": Kind("answers", "analyses.quality", "position_effects"),
        "missing_answers": Kind("answers", "analyses.quality", "missing_answers", also=("prompts",)),
        "missing_bounds": Kind("norms", "analyses.quality", "missing_bounds", also=("vignettes",)),
        "discarded": Kind("norms", "analyses.filtering", "discarded"),
        "lost": Kind("norms", "analyses.filtering", "lost"),
        "discarded_levels": Kind(
            "norms",
            "analyses.filtering",
            "discarded_levels",
            also=("vignettes",),
            columns=("arm", "model", "factor", "level", "flows", "kept", "discarded", "share_discarded"),
        ),
        "discarded_association": Kind(
            "norms",
            "analyses.filtering",
            "discarded_association",
            also=("vignettes",),
            columns=("arm", "model", "factor", "statistic", "dof", "p", "cramers_v", "flows", "status"),
        ),
        "minority": Kind("norms", "analyses.filtering", "minority_of_norms", also=("vignettes",)),
        "mean_delta": Kind("norms", "analyses.deltas", "mean_delta", also=("vignettes",)),
        "privacy_bias": Kind("norms", "analyses.deltas", "bias_of_flows", also=("vignettes", "expected")),
        "delta": Kind("norms", "analyses.deltas", "delta", also=("vignettes", "expected")),
        "norm_intervals": Kind(
            "answers", "analyses.stability", "norm_intervals", also=("norms", "vignettes")
        ),
        "stability": Kind("answers", "analyses.stability", "stability", also=("norms", "vignettes")),
        "budget": Kind("answers", "analyses.stability", "budget_curve"),
        "budget_needed": Kind("answers", "analyses.stability", "budget_needed"),
        "budget_design": Kind("answers", "analyses.stability", "budget_design", also=("prompts",)),
        "calibration": Kind(
            "norms", "analyses.calibration", "calibration", also=("vignettes", "planted", "coefficients")
        ),
        "calibration_coefficients": Kind(
            "norms",
            "analyses.calibration",
            "calibration_coefficients",
            also=("vignettes", "planted", "coefficients"),
        ),
    },
    "figures": {
        "distribution": Kind("answers", "figures.distribution", "draw"),
        "norms": Kind("norms", "figures.norms", "draw", also=("vignettes",)),
        "norm_distribution": Kind("norms", "figures.norm_distribution", "draw", also=("vignettes",)),
        "variance": Kind("answers", "figures.variance", "draw", also=("vignettes", "prompts")),
        "minority": Kind("norms", "figures.minority", "draw", also=("vignettes",)),
        "sensitivity": Kind("norms", "figures.sensitivity", "draw", also=("vignettes",)),
        "agreement": Kind("norms", "figures.agreement", "draw", also=("vignettes",)),
        "delta": Kind("norms", "figures.delta", "draw", also=("vignettes", "expected")),
        "coefficients": Kind("table", "figures.coefficients", "draw"),
        "calibration": Kind("norms", "figures.calibration", "draw", also=("vignettes", "planted")),
    },
    "printed": {
        "models": Kind("registry", "printed.models", "models"),
        "discarded": Kind("tables", "printed.filtering", "discarded"),
        "lost": Kind("tables", "printed.filtering", "lost"),
        "coefficients": Kind("tables", "printed.coefficients", "coefficients"),
        "pairs": Kind("tables", "printed.pairs", "pairs"),
    },
}


_CONTRACTS = {
    "answers": tables.ANSWERS,
    "norms": tables.NORMS,
    "vignettes": tables.VIGNETTES,
    "prompts": tables.PROMPTS,
    "planted": tables.PLANTED,
}


def inputs_of(kind: Kind, entry: Mapping[str, Any], results: str) -> dict[str, list[str]]:
    """Return the files that an entry is made from: ``frames``, in the order of ``selected``, and ``also``.

    Vignettes and prompts come in the order of the entry's arms, what was planted in that of ``respondents``.
    """

    def of_pairs(folder: str, key: str, suffix: str) -> list[str]:
        return [f"{results}/{folder}/{arm}/{model}.{suffix}" for arm, model in entry[key]]

    known: dict[str, Callable[[], list[str]]] = {
        "answers": lambda: of_pairs("answers", "selected", "parquet"),
        "norms": lambda: of_pairs("norms", "selected", "parquet"),
        "vignettes": lambda: [
            f"{results}/vignettes/{entry['design'][a]['dataset']}.parquet" for a in entry["arms"]
        ],
        "prompts": lambda: [f"{results}/prompts/{arm}.parquet" for arm in entry["arms"]],
        "planted": lambda: of_pairs("planted", "respondents", "parquet"),
        "coefficients": lambda: of_pairs("planted", "respondents", "json"),
        "table": lambda: [f"{results}/tables/{entry['table']}.parquet"],
        "tables": lambda: [f"{results}/tables/{name}.parquet" for name in entry["from"]],
        "registry": list,
        "expected": lambda: [entry["expected"]] if entry.get("expected") else [],
    }
    return {"frames": known[kind.stage](), **{name: known[name]() for name in kind.also}}


def read_selected(kind: Kind, entry: Mapping[str, Any], paths: Sequence[str]) -> list[Selected]:
    """Read the tables that an entry is made from: ``paths`` in the order of ``entry["selected"]``.

    A figure of stage ``table`` has one: that of the analysis it names, whose arms and models are columns. A
    printed table has one for each analysis that it names, or, of stage ``registry``, none.
    """
    if kind.stage in ("tables", "registry"):
        names = entry["from"] if kind.stage == "tables" else []
        return [Selected("", name, pd.read_parquet(path)) for name, path in zip(names, paths, strict=True)]
    if kind.stage == "table":
        return [Selected("", entry["table"], pd.read_parquet(paths[0]))]
    return _read_pairs(kind.stage, entry, paths)


def read_further(kind: Kind, entry: Mapping[str, Any], paths: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Read what ``kind.also`` names from the files that ``inputs_of`` named."""
    found: dict[str, Any] = {}
    for name in kind.also:
        if name in ("answers", "norms"):
            found[name] = _read_pairs(name, entry, paths[name])
        elif name in ("vignettes", "prompts"):
            frames = {path: tables.read(path, _CONTRACTS[name]) for path in dict.fromkeys(paths[name])}
            found[name] = {arm: frames[path] for arm, path in zip(entry["arms"], paths[name], strict=True)}
        elif name == "expected":
            found[name] = Path(paths[name][0]) if paths[name] else None
        else:
            pairs = zip(map(tuple, entry["respondents"]), paths[name], strict=True)
            found[name] = {pair: _read_planted(name, path) for pair, path in pairs}
    return found


def _read_pairs(stage: str, entry: Mapping[str, Any], paths: Sequence[str]) -> list[Selected]:
    contract = _CONTRACTS[stage]
    return [
        Selected(arm, model, tables.read(path, contract))
        for (arm, model), path in zip(entry["selected"], paths, strict=True)
    ]


def _read_planted(name: str, path: str) -> Any:
    if name == "planted":
        return tables.read(path, tables.PLANTED)
    return json.loads(Path(path).read_text(encoding="utf-8"))
