"""May I rely on it? A sentence per model: about the flow, in other wordings, as read, when asked again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cinorms.analyses.quality import FEWEST_STABLE
from cinorms.report.results import StudyResults
from cinorms.report.words import count, counted, share
from cinorms.stats.flow_dependence import DEPENDS, VERDICTS

#: Shares of a model's norms that hold in other wordings, from which on the answer is "mostly" and "in part".
MOSTLY, IN_PART = 0.8, 0.2


@dataclass(frozen=True)
class Reliance:
    """A model, whether its norms can be relied on in a word or two, and the sentences that say why."""

    model: str
    answer: str
    text: str


def reliance(results: StudyResults) -> list[Reliance]:
    """Return the answer for each model of the main arm; none where people alone answered."""
    arm = results.main_arm()
    pairs = [] if results.is_people(arm) else results.pairs(arm)
    return [
        Reliance(
            model,
            _answer(_row(results, "flow_dependence", arm, model), _row(results, "stability", arm, model)),
            " ".join(f"{text[0].upper()}{text[1:]}" for text in _sentences(results, arm, model)),
        )
        for _, model in pairs
    ]


def is_asked_again(results: StudyResults) -> bool:
    """Tell whether any model of the main arm was asked twice, so that the page can compare both askings."""
    arm = results.main_arm()
    rows = (_row(results, "repeatability", arm, model) for _, model in results.pairs(arm))
    return any(pd.notna(row.get("answers_differ")) for row in rows)


def _row(results: StudyResults, kind: str, arm: str, model: str) -> dict[str, Any]:
    """Return a model's row of the first table of a kind; empty where the study has none."""
    table = next(results.tables_of(kind, arm, model), None)
    return {} if table is None or table.empty else {str(k): value for k, value in table.iloc[0].items()}


def _answer(depends: dict[str, Any], stable: dict[str, Any]) -> str:
    if depends and depends["verdict"] not in DEPENDS:
        return "No"
    if not stable or pd.isna(stable["share_stable"]):
        return "Not known"
    held = stable["share_stable"]
    return "Mostly" if held >= MOSTLY else "In part" if held >= IN_PART else "Hardly"


def _sentences(results: StudyResults, arm: str, model: str) -> Iterator[str]:
    depends, stable = _row(results, "flow_dependence", arm, model), _row(results, "stability", arm, model)
    if depends:
        yield f"{VERDICTS[str(depends['verdict'])]}."
    # Of answers that ignore the flow no norm is about it, in whatever wording.
    if depends and depends["verdict"] not in DEPENDS:
        pass
    elif not len(results.held(arm, model)):
        yield "It holds no norm."
    elif stable and pd.notna(stable["share_stable"]):
        held = stable["share_stable"]
        same = round(held * stable["norms"])
        # As a whole number it may be a limit that it does not reach.
        fine = any(held < limit <= round(held, 2) for limit in (MOSTLY, IN_PART))
        held_share = f"{held:.1%}" if fine else share(same, stable["norms"])
        holds, flows = len(results.held(arm, model)), len(results.norms[arm, model])
        yield f"It holds a norm on {count(holds)} of {counted(flows, 'flow')} ({share(holds, flows)})."
        yield (
            f"For {held_share} of its norms ({count(same)} of {count(stable['norms'])}), the probability is at least "
            "95% that other wordings give the same norm."
        )
    elif stable:
        yield (
            "It was asked in too few wordings to show how many norms others would change: that takes at least "
            f"{FEWEST_STABLE}."
        )
    else:
        yield (
            "The study did not compute how many norms other wordings would change (add an analysis of kind stability)."
        )
    codes = results.codes[arm, model]
    yield f"{share(codes.n_valid, codes.n_asked)} of its replies could be read as an answer."
    again = _row(results, "repeatability", arm, model)
    if pd.notna(again.get("answers_differ")):
        yield f"Asked the same again, it changed {again['answers_differ']:.1%} of its answers to another level."
