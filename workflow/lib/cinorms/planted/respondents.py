"""Planted respondents: known norms, known noise, known invalid answers, and no model asked.

The flow's acceptability is a cumulative-logit model over the factors: ``linear`` (the sum of the levels'
coefficients, scaled and shifted) plus ``residual`` (standard logistic, one per flow). Cutting their sum at
the thresholds gives the planted norm. On a scale with another number of levels the thresholds are spread over the same
range (`thresholds_on`). A single answer adds the effect of its template and its own noise
before the cut; a stated share of answers follows the position of the option instead. Everything is a pure
function of (model, flow, variant, seed), so shards and restarts change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.draws import draw_logistic, draw_normal, draw_uniform, text_number
from cinorms.core.scales import Scale
from cinorms.planted.texts import TextBook
from cinorms.planted.traces import Traces, draw_traces
from cinorms.prompts.orders import orders_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Respondent:
    """What is planted; the fields, and their defaults, are those of ``planted`` in the registry.

    A spec has no defaults, only what the registry states, so the defaults are here, where it is read.
    """

    name: str
    thresholds: tuple[float, ...] = (-1.5, -0.5, 0.5, 1.5)
    coefficients: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    other_levels_sd: float = 1.0
    shift: float = 0.0
    scale: float = 1.0
    template_sd: float = 0.0
    noise: float = 0.0
    position_share: float = 0.0
    position_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0)
    verbose: float = 0.0
    invalid: Mapping[str, float] = field(default_factory=dict)
    control: str | None = None
    unrepeatable: float = 0.0
    trace: Mapping[str, float] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """Return what is planted as plain data; what most respondents have none of only where it is."""
        optional = ("unrepeatable", "trace")
        return {name: value for name, value in asdict(self).items() if name not in optional or value}


def level_coefficients(
    respondent: Respondent, factors: Mapping[str, Sequence[str]], seed: int
) -> pd.DataFrame:
    """Return the coefficient of every level, scaled: columns factor, level, coefficient, stated.

    A level that is not listed draws one from a normal distribution: the same for every respondent and
    dataset under one seed, so that only stated differences between respondents exist. The only level of a factor has
    0 if it is not listed.
    """
    rows = []
    for factor, levels in factors.items():
        stated = respondent.coefficients.get(factor, {})
        for level in levels:
            if level in stated:
                value = stated[level]
            elif len(levels) == 1:
                value = 0.0
            else:
                draw = draw_normal("level", seed, text_number(factor), text_number(level))
                value = respondent.other_levels_sd * float(draw)
            rows.append((factor, level, respondent.scale * value, level in stated))
    return pd.DataFrame(rows, columns=["factor", "level", "coefficient", "stated"])


def thresholds_on(respondent: Respondent, scale: Scale) -> Floats:
    """Return the respondent's thresholds on a scale, one fewer than its levels.

    Where that is another number than planted, they are where the planted ones would put the same share of the levels,
    in proportion between two planted thresholds and beyond the outer ones.
    """
    planted, n = np.array(respondent.thresholds, dtype=np.float64), len(scale.levels)
    if len(planted) == n - 1:
        return planted
    share, at = np.arange(1, len(planted) + 1) / (len(planted) + 1), np.arange(1, n) / n
    if len(planted) == 1:
        return planted + (at - 0.5) * len(scale.levels)
    between = np.clip(np.searchsorted(share, at), 1, len(share) - 1)
    low, high = share[between - 1], share[between]
    return planted[between - 1] + (at - low) / (high - low) * (planted[between] - planted[between - 1])


def _mild(scale: Scale) -> int:
    """Return the position of the mildest option on the upper side: what controls of one answer give."""
    return scale.sides.index(1)


def plant(
    respondent: Respondent, vignettes: pd.DataFrame, factors: Sequence[str], scale: Scale, seed: int
) -> pd.DataFrame:
    """Return the planted table: per flow the norm (missing for a control that has none) and its two parts."""
    flows = vignettes["flow"].to_numpy()
    table = pd.DataFrame({"flow": flows.astype(np.int32)})
    if respondent.control is not None:
        constant = respondent.control == "constant_answer"
        table["level"] = pd.array(
            [scale.levels[_mild(scale)] if constant else pd.NA] * len(table), dtype="Int8"
        )
        return table.assign(linear=0.0, residual=0.0)
    linear = np.full(len(flows), float(respondent.shift))
    levels = {factor: list(vignettes[factor].cat.categories) for factor in factors}
    for factor, rows in level_coefficients(respondent, levels, seed).groupby("factor", sort=False):
        coefficients = rows.set_index("level")["coefficient"]
        linear += coefficients.loc[levels[str(factor)]].to_numpy()[vignettes[factor].cat.codes]
    residual = draw_logistic("residual", seed, text_number(respondent.name), flows)
    level = np.array(scale.levels)[np.searchsorted(thresholds_on(respondent, scale), linear + residual)]
    return table.assign(level=pd.array(level.astype(np.int8), dtype="Int8"), linear=linear, residual=residual)


def respond(
    respondent: Respondent,
    planted: pd.DataFrame,
    grid: pd.DataFrame,
    variants: pd.DataFrame,
    scale: Scale,
    seed: int,
    temperature: float = 0.0,
    repeat: int = 1,
    budget: int | None = None,
) -> pd.DataFrame:
    """Answer every row of ``grid`` (from ``prompts.variants.ask_grid``); columns text and finish_reason.

    With a ``budget`` for traces, also n_trace_tokens and trace_status (`planted.traces`).

    ``temperature`` adds its value to the scale of the answers' noise. A template is known by its wording,
    not by its number: the same wording in two prompt sets has one effect, template 3 of each has its own.
    In an asking ``repeat`` after the first, the planted share of the answers chooses another option.
    """
    who = text_number(respondent.name)
    rows = grid["row"].to_numpy()
    templates = np.array([text_number(template) for template in variants["template"]], dtype=np.int64)
    effect = (respondent.template_sd * draw_normal("template", seed, who, templates))[rows]
    at = (who, grid["flow"].to_numpy(), templates[rows], variants["order_no"].to_numpy()[rows])
    traces = None if budget is None else draw_traces(Traces(**respondent.trace), budget, at, seed)
    share = respondent.position_share + (0.0 if traces is None else traces.bias)
    option = _chosen_option(respondent, planted, grid, scale, effect, at, seed, temperature, share)
    if repeat > 1 and respondent.unrepeatable:
        option = _flipped(option, respondent.unrepeatable, len(scale.levels), (*at, repeat), seed)
    book = TextBook(scale)
    status = _statuses(respondent, at, seed)
    verbose = draw_uniform("verbose", seed, *at) < respondent.verbose
    codes = book.pick(option, status, verbose, draw_uniform("text", seed, *at))
    text = pd.Categorical.from_codes(codes, categories=pd.Index(book.texts, dtype="str"))
    replies = pd.DataFrame({"text": text, "finish_reason": book.finish_reason(codes)})
    return replies if traces is None else traces.added_to(replies)


def _chosen_option(
    respondent: Respondent,
    planted: pd.DataFrame,
    grid: pd.DataFrame,
    scale: Scale,
    template_effect: Floats,
    at: tuple[Any, ...],
    seed: int,
    temperature: float,
    position_share: float | Floats,
) -> npt.NDArray[np.int64]:
    """Return the index of the chosen option (0 lowest) for every row of the grid."""
    shown, n = orders_of(scale.n_shown).shown[grid["order_code"].to_numpy()], len(scale.levels)
    everyone = np.arange(len(grid))
    match respondent.control:
        case "constant_answer" | "refusing":
            return np.full(len(grid), _mild(scale))
        case "constant_position":
            return np.asarray(shown[:, 0], dtype=np.int64)
        case "uniform":
            return np.asarray(draw_uniform("uniform", seed, *at) * n).astype(np.int64)
    acceptability = (planted["linear"] + planted["residual"]).to_numpy()
    place = np.searchsorted(planted["flow"].to_numpy(), grid["flow"].to_numpy())
    noise = (respondent.noise + temperature) * draw_logistic("answer", seed, *at)
    latent = acceptability[place] + template_effect + noise
    option = np.searchsorted(thresholds_on(respondent, scale), latent)
    if scale.n_shown == 1:
        return np.asarray(option, dtype=np.int64)
    by_position = draw_uniform("by_position", seed, *at) < position_share
    weights = np.cumsum(_position_weights(respondent, n))
    weights /= weights[-1]
    position = np.searchsorted(weights, draw_uniform("position", seed, *at), side="right").clip(max=n - 1)
    return np.asarray(np.where(by_position, shown[everyone, position], option), dtype=np.int64)


def _flipped(
    option: npt.NDArray[np.int64], share: float, n: int, at: tuple[Any, ...], seed: int
) -> npt.NDArray[np.int64]:
    """Return the chosen options, a ``share`` of them replaced by another of the ``n`` options, each as likely."""
    other = (option + 1 + (draw_uniform("flip_to", seed, *at) * (n - 1)).astype(np.int64)) % n
    return np.asarray(np.where(draw_uniform("flip", seed, *at) < share, other, option), dtype=np.int64)


def _position_weights(respondent: Respondent, n: int) -> Floats:
    """Return the weight of each of ``n`` positions: those planted, or in proportion between them."""
    planted = respondent.position_weights
    places = np.linspace(0, len(planted) - 1, n)
    return np.interp(places, np.arange(len(planted)), planted)


def _statuses(respondent: Respondent, at: tuple[Any, ...], seed: int) -> npt.NDArray[np.str_]:
    """Return the status planted for every answer: ``ok`` or a kind of invalid answer."""
    if respondent.control == "refusing":
        return np.full(np.broadcast(*at).shape, "refusal")
    names = [*respondent.invalid, "ok"]
    upper = np.cumsum([*respondent.invalid.values()])
    return np.array(names)[np.searchsorted(upper, draw_uniform("status", seed, *at), side="right")]


def respondent_of(spec: Mapping[str, Any]) -> Respondent:
    """Return the respondent that an inference spec plants."""
    return Respondent(name=spec["model"], **spec["planted"])


def answer(
    spec: Mapping[str, Any],
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    grid: pd.DataFrame,
    repeat: int = 1,
) -> pd.DataFrame:
    """Answer a shard as the respondent that ``spec`` plants: the engine ``planted``; see `respond`."""
    respondent = respondent_of(spec)
    scale = Scale.of(spec["scale"])
    planted = plant(respondent, vignettes, spec["factors"], scale, spec["seed"])
    reasoning = spec.get("reasoning")
    budget = reasoning["budget"] if reasoning else None
    return respond(
        respondent, planted, grid, variants, scale, spec["seed"], spec["temperature"], repeat, budget
    )


def describe(spec: Mapping[str, Any], vignettes: pd.DataFrame) -> dict[str, Any]:
    """Return everything that ``spec`` plants as plain data: the respondent, and each level's coefficient."""
    respondent = respondent_of(spec)
    levels = {factor: list(vignettes[factor].cat.categories) for factor in spec["factors"]}
    held = pd.DataFrame(columns=["factor", "level", "coefficient", "stated"])
    if respondent.control is None:
        held = level_coefficients(respondent, levels, spec["seed"])
    facts = {
        **respondent.facts(),
        "seed": spec["seed"],
        "planted": "No model was asked: these are the planted norms.",
    }
    return {**facts, "coefficients": held.to_dict("records")}
