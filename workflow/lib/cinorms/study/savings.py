"""What asking until decided is expected to save and to lose, stated before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.scales import Scale
from cinorms.inference.until_decided import make_design
from cinorms.norms.assessment import grid, level_matrix
from cinorms.prompts.orders import codes_of
from cinorms.stats.deciding.rounds import Rule, replay
from cinorms.stats.deciding.schedule import LEAST_PILOT, NOT_ASKED

#: Lowest and highest share of the prompts that the eight published models needed, and the lowest agreement with the
#: verdicts of the full design, replayed at this risk with a pilot of 400 of 6,912 flows (benchmarks/deciding.py).
REPLAYED_RISK = 0.015
LEAST, MOST, AGREED = 0.27, 0.70, 0.991


class Replayed(NamedTuple):
    """What a pilot study's answers would have needed: of the flows outside the rounds' own pilot.

    ``asked`` is the share of their prompts, ``agreed`` the share of them with the verdict of all answers.
    """

    flows: int
    asked: float
    agreed: float


def replay_pilot(
    ask: Mapping[str, Any], answers: pd.DataFrame, prompts: pd.DataFrame, vignettes: pd.DataFrame
) -> Replayed | None:
    """Replay the answers of a pilot study to one model's questions as if they were asked until decided.

    ``ask`` is of ``Study.asked``, ``prompts`` and ``vignettes`` are the study's. None where the pilot cannot tell: it
    has asked other variants, or too few of these flows for a pilot within the pilot.
    """
    rule, scale = Rule.from_plain(ask["asking"]), Scale.of(ask["scale"])
    variants = prompts[prompts["template_no"] < ask["n_templates"]]
    names = variants["variant"].astype(str)
    answers = answers[answers["variant"].astype(str).isin(names)]
    number = answers["flow"].value_counts()
    flows = vignettes[vignettes["flow"].isin(number.index[number == len(variants)])]
    pilot = min(rule.pilot, len(flows) // 2)
    if pilot < LEAST_PILOT:
        return None
    levels = level_matrix(answers).reindex(index=flows["flow"], columns=names)
    codes = scale.places(levels.to_numpy(dtype=float), missing=len(scale.binned.levels))
    orders = _order_codes(answers, flows["flow"], names, scale.n_shown)
    design = make_design(flows, ask["factors"], variants, scale, ask["seed"], orders)
    asked, others = replay(design, rule._replace(pilot=pilot), codes), ~design.pilot(pilot)
    stopped = design.verdict(np.where(asked, codes, NOT_ASKED), rule.thresholds)
    same = stopped == design.verdict(codes, rule.thresholds)
    return Replayed(int(others.sum()), float(asked[others].mean()), float(same[others].mean()))


def _order_codes(
    answers: pd.DataFrame, flows: pd.Series[int], variants: pd.Series[str], n_options: int
) -> npt.NDArray[np.int64] | None:
    """Return the code of the order that each prompt showed (flow by variant); None where one is not known."""
    codes = codes_of(answers["order"], n_options)
    if (codes < 0).any():
        return None
    return grid(answers, codes).reindex(index=flows, columns=variants).to_numpy(dtype=np.int64)


def expected_savings(
    asked: Sequence[Mapping[str, Any]],
    plan: pd.DataFrame,
    replayed: Mapping[tuple[str, str], Replayed | None],
) -> list[str]:
    """Return one line for each model in an arm that is asked until decided.

    ``asked`` as of ``Study.asked``; ``replayed`` by arm and model, for those that a pilot study has asked.
    """
    lines = []
    rows = {(row["arm"], row["model"]): row for row in plan.to_dict("records")}
    for ask in asked:
        pair = ask["arm"], ask["model"]
        rule, row = ask.get("asking"), rows[pair]
        if rule is None:
            continue
        who = f"{ask['arm']}, {ask['model']}: asked until decided"
        own, prompts = rule["pilot"] / row["flows"], row["prompts"]
        if own >= 1:
            lines.append(
                f"{who}: saves nothing, because the pilot ({rule['pilot']:,}) is all {row['flows']:,} flows; "
                "lower asking.pilot"
            )
        elif found := replayed.get(pair):
            lines.append(
                f"{who}: {prompts:,} prompts at most; {round(prompts * (own + (1 - own) * found.asked)):,} expected "
                f"after its answers in the pilot study (replayed: {found.flows:,} flows needed {found.asked:.0%} of "
                f"their prompts, and {found.agreed:.1%} of them kept the verdict of all prompts)"
            )
        else:
            low, high = (round(prompts * max(part, own)) for part in (LEAST, MOST))
            why = "; the pilot study has asked other variants, or too few flows" if pair in replayed else ""
            lines.append(
                f"{who}: {prompts:,} prompts at most; {low:,} to {high:,} expected, if it answers like the eight "
                f"published models (replayed at risk {REPLAYED_RISK:g}, where at least {AGREED:.1%} of flows kept the "
                f"verdict of the full design; here risk {rule['risk']:g}){why}"
            )
    return lines
