"""The plan: what a study asks each model in each arm, what that costs, before anything is spent."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from cinorms.answers.coding.prompt import ACTS_TEMPLATE
from cinorms.core.csv_tables import OF_TRACES, PLAN
from cinorms.core.scales import Scale
from cinorms.inference.engine_kind import TRACE_SHARE, Work
from cinorms.inference.respondent_kinds import cost_of
from cinorms.norms.assessment import level_matrix
from cinorms.prompts.orders import options_shown
from cinorms.prompts.variants import select_flows
from cinorms.stats.generalizability import DesignSize, phi
from cinorms.stats.wordings import template_numbers
from cinorms.vignettes.agent_files import scenes_of

#: Characters per token of these prompts: the authors' 228,096 prompts have 388 characters on average, which
#: are 79.3 tokens of a 131k-word tokenizer and 90.2 of the 32k-word one of tulu-2.
# ASSUME: other tokenizers, and other datasets' vignettes, are within 15% of it.
CHARACTERS_PER_TOKEN = 4.6
#: Tokens of a chat template around one prompt.
WRAPPER_TOKENS = 10
#: Tokens of an answer: an option of the scale takes three to five.
ANSWER_TOKENS = 5
#: Tokens of an action: the 986 published ones of two models have 1,020 characters on average, thoughts included.
ACTION_TOKENS = 222


def estimate(
    asked: Sequence[Mapping[str, Any]],
    vignettes: Mapping[str, pd.DataFrame],
    variants: Mapping[str, pd.DataFrame],
    judge: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return one row per arm and model, and one of the ``judge`` that reads actions (`Study.judge`).

    Columns: arm, model, engine, flows, templates, orders, prompts,
    input_tokens, output_tokens, gpus, gpu_minutes, usd; with arms that reason also trace_tokens (expected) and the
    most of tokens and costs, were every trace as long as its budget. A cost that the registry has no rate for is
    missing, not 0; a planted model costs 0.
    ``asked`` has what ``Study.asked`` returns.
    """
    rows = []
    for ask in asked:
        flows = select_flows(vignettes[ask["dataset"]], ask["select"])
        used = variants[ask["arm"]]
        used = used[used["template_no"] < ask["n_templates"]]
        shown = len(options_shown(Scale.from_plain(ask["scale"]))[0])
        characters = (
            flows["vignette"].str.len().sum() * len(used)
            + len(flows) * (used["template"].str.len().sum() + len(used) * (shown + len(ask["system"] or "")))
            - len(flows) * len(used) * len("{scenario}{options}")
        )
        prompts = len(flows) * len(used)
        tokens_in = round(characters / CHARACTERS_PER_TOKEN) + WRAPPER_TOKENS * prompts
        tokens_out = (ACTION_TOKENS if ask.get("task") == "act" else ANSWER_TOKENS) * prompts
        rows.append(
            {
                **{name: ask[name] for name in ("arm", "model", "engine")},
                "flows": len(flows),
                "templates": used["template_no"].nunique(),
                "orders": used["order_no"].nunique(),
                "prompts": prompts,
                "input_tokens": tokens_in,
                "output_tokens": tokens_out,
                "gpus": ask["gpus"],
                **_costs(ask, tokens_in, tokens_out, prompts),
            }
        )
    if judge is not None:
        rows.append(_judging(judge, asked, vignettes, variants))
    reasons = any(ask.get("budget") is not None for ask in (*asked, judge or {}))
    traces = set(OF_TRACES) if reasons else set()
    columns = [name for name in PLAN.about if name not in PLAN.only or name in traces]
    types = {name: "Float64" for name in columns if name.startswith(("gpu_minutes", "usd"))}
    types |= {name: "Int64" for name in columns if name.startswith("trace_tokens")}
    return pd.DataFrame(rows, columns=columns).astype(types)


def _judging(
    judge: Mapping[str, Any],
    asked: Sequence[Mapping[str, Any]],
    vignettes: Mapping[str, pd.DataFrame],
    variants: Mapping[str, pd.DataFrame],
) -> dict[str, Any]:
    """Return the row of a judge that reads every action: as many requests as actions, were none like another."""
    flows = prompts = characters = 0
    for ask in (ask for ask in asked if ask.get("task") == "act"):
        judged = select_flows(vignettes[ask["dataset"]], ask["select"])
        wordings = int((variants[ask["arm"]]["template_no"] < ask["n_templates"]).sum())
        flows, prompts = flows + len(judged), prompts + len(judged) * wordings
        characters += wordings * sum(len(scene) + len(ACTS_TEMPLATE) for scene in scenes_of(judged))
    tokens_in = round(characters / CHARACTERS_PER_TOKEN) + (WRAPPER_TOKENS + ACTION_TOKENS) * prompts
    tokens_out = ANSWER_TOKENS * prompts
    return {
        **{name: judge[name] for name in ("arm", "model", "engine", "gpus")},
        **{"flows": flows, "templates": 1, "orders": 1, "prompts": prompts},
        **{"input_tokens": tokens_in, "output_tokens": tokens_out},
        **_costs(judge, tokens_in, tokens_out, prompts),
    }


def add_precision(
    plan: pd.DataFrame, pilot: Mapping[tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]], target_phi: float
) -> pd.DataFrame:
    """Return the plan with the Phi that existing answers predict for its numbers of templates and orders.

    ``pilot`` has answers and prompts by arm and model. Added columns: phi, and templates_needed (for ``target_phi`` in
    the planned orders); missing where there are no answers of the model in this arm, or none that show it.
    """
    phis: list[Any] = []
    needed: list[Any] = []
    for row in plan.to_dict("records"):
        share, design = math.nan, DesignSize(row["templates"], row["orders"])
        if pair := pilot.get((row["arm"], row["model"])):
            share = phi(level_matrix(pair[0]), template_numbers(pair[1]), design)
        # The error falls with the number of templates.
        of_one = design.templates * (1 / share - 1)
        phis.append(pd.NA if math.isnan(share) else share)
        needed.append(
            pd.NA
            if math.isnan(share)
            else max(math.ceil(round(of_one * target_phi / (1 - target_phi), 9)), 1)
        )
    return plan.assign(phi=pd.array(phis, dtype="Float64"), templates_needed=pd.array(needed, dtype="Int64"))


def _costs(ask: Mapping[str, Any], tokens_in: int, tokens_out: int, prompts: int) -> dict[str, Any]:
    """Return the expected costs, and those with the longest traces that the arm allows."""
    most = (ask.get("budget") or 0) * prompts
    expected = round(most * ask["rates"].get("trace_share", TRACE_SHARE))

    costs: dict[str, Any] = {"trace_tokens": expected, "trace_tokens_most": most}
    for end, traces in (("", expected), ("_most", most)):
        work = Work(tokens_in, tokens_out, ask["gpus"], ask["rates"], traces)
        cost = cost_of(ask["engine"], work)
        costs |= {f"gpu_minutes{end}": cost.gpu_minutes, f"usd{end}": cost.usd}
    return {name: pd.NA if value is None else value for name, value in costs.items()}


_COSTS = ("gpu_minutes", "usd", "gpu_minutes_most", "usd_most")
_HEADINGS = {
    "gpu_minutes": "GPU-minutes",
    "usd": "USD",
    "gpu_minutes_most": "at most",
    "usd_most": "USD at most",
}


def dollars(usd: float) -> str:
    """Return an amount of money; small ones with more digits."""
    if usd == 0:
        return "$0"
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


def as_text(plan: pd.DataFrame) -> str:
    """Return the plan as a table for a terminal, totals (of what is known) last."""
    if plan.empty:
        return "\nNo model is asked: all answers of this study exist already."
    tokens = ["prompts", "input_tokens", "output_tokens", "trace_tokens", "trace_tokens_most"]
    counts = [name for name in tokens if name in plan]
    total = {"arm": "total", **{name: plan[name].sum() for name in counts}}
    total |= {name: plan[name].sum(min_count=1) for name in _COSTS if name in plan}
    shown = plan.drop(columns="gpus").astype(object)
    shown = pd.concat([shown, pd.DataFrame([total]).astype(object)])
    whole = dict.fromkeys(["flows", "templates", "orders", "templates_needed", *counts], (0, ""))
    minutes = {"gpu_minutes": (0, "-"), "gpu_minutes_most": (0, "-")}
    for name in {"usd", "usd_most"} & set(shown):
        shown[name] = [dollars(value) if pd.notna(value) else "-" for value in shown[name]]
    for name, (digits, none) in {**whole, **minutes, "phi": (2, "-")}.items():
        if name in shown:
            shown[name] = [f"{value:,.{digits}f}" if pd.notna(value) else none for value in shown[name]]
    lines = shown.rename(columns=_HEADINGS).fillna("").to_string(index=False)
    note = (
        "Estimates with the rates in config/models.yaml ('-': no rate; the totals leave it out). "
        "Retries are not included."
    )
    if shown["arm"].str.startswith("coder.").any():
        note += "\ncoder: reads each distinct action once, so this many requests at most."
    if "trace_tokens" in shown:
        note += (
            "\ntrace_tokens: expected length of all traces, rates.trace_share (or half) of the budget for each (the "
            "arm's, or extra_tokens of the entry); trace_tokens_most and the columns 'at most': every trace that long."
        )
    note += (
        "\nphi: share of the variance between flows that another study like this would show again, predicted from "
        "answers; templates_needed: wordings for plan.target_phi in these orders."
        if "phi" in shown
        else "\nHow many wordings a model needs shows in its answers: with some in two wordings, of this study or of "
        "plan.pilot, the plan states it."
    )
    return f"\n{lines}\n\n{note}"
