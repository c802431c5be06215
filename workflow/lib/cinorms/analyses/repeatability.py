"""Kind on how repeatable the engine itself is: what differs when the same prompts are asked again, in other batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.columns import CONF_HIGH, CONF_LOW, STATUS, WHO
from cinorms.analyses.comparing import Repeats, answers_again, held_norms, norms_again
from cinorms.analyses.options import Generalises
from cinorms.analyses.shared import by_pair, chosen_each, for_each, on_flows_of
from cinorms.core.tables import ANSWER_STATUSES
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import level_matrix
from cinorms.stats.repeats import answers_differ, differing, norms_differ
from cinorms.stats.wordings import template_numbers

_QUESTION = ["flow", "variant"]
_COUNTS = ("askings", "prompts", "replies", "failed", "answers", "flows", "norms")


class RepeatabilityOptions(Generalises, OfNorms):
    """Options of kind ``repeatability``."""


def repeatability(
    selected: Sequence[Selected],
    entry: Entry[RepeatabilityOptions],
    norms: Sequence[Selected],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
    repeats: Repeats,
) -> pd.DataFrame:
    """Return what differs between the first asking of each model in each arm and the further ones."""
    norms_of = by_pair(norms)

    def make(one: Selected) -> pd.DataFrame:
        pair = (one.arm, one.model)
        if pair not in repeats:
            return pd.DataFrame([{"askings": 1, "prompts": len(one.frame), "status": "not_repeated"}])
        again = answers_again(one, repeats)
        own = one._replace(frame=on_flows_of(one, norms_of[pair]))
        row: dict[str, Any] = {"what": "engine_and_sampling" if pair in entry.drawn else "engine"}
        row |= {"askings": 1 + len(again), "prompts": len(one.frame)}
        row |= _of_replies(pd.concat(again)) | _of_answers(one, again, entry, prompts[one.arm])
        return pd.DataFrame([row | _of_norms(own, repeats, entry)])

    found = for_each(chosen_each(selected, entry, vignettes), make)
    counts = dict.fromkeys(_COUNTS, "Int64")  # whole numbers, also where an arm is asked once and has none
    return found.reindex(columns=[column.name for column in COLUMNS]).astype(counts)


def _of_replies(table: pd.DataFrame) -> dict[str, Any]:
    same = table["same_reply"].dropna()
    return {
        "replies": len(same),
        "replies_differ": 1 - float(same.mean()) if len(same) else np.nan,
        "failed": int(table["same_reply"].isna().sum()),
    }


def _of_answers(
    one: Selected,
    again: Sequence[pd.DataFrame],
    entry: Entry[RepeatabilityOptions],
    prompts: pd.DataFrame,
) -> dict[str, Any]:
    cells = differing(level_matrix(one.frame), [level_matrix(each) for each in again])
    found = answers_differ(cells, template_numbers(prompts), entry.options.fixed_flows)
    codes = [_statuses(one.frame), *map(_statuses, again)]
    changed = differing(codes[0], codes[1:]).to_numpy()
    status = "no_answers" if not found.n else "one_template" if np.isnan(found.low) else "ok"
    return {
        "answers": found.n,
        "answers_differ": found.share,
        "conf_low": found.low,
        "conf_high": found.high,
        "statuses_differ": float(np.nanmean(changed)) if (~np.isnan(changed)).any() else np.nan,
        "status": status,
    }


def _statuses(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the number of each answer's status, flows x variants; NaN where the engine failed to reply."""
    frame = answers[_QUESTION].astype({"variant": str})
    code = answers["status"].map({name: i for i, name in enumerate(ANSWER_STATUSES)}).astype(np.float64)
    frame = frame.assign(code=code.where(answers["status"] != "error"))
    return frame.set_index(_QUESTION)["code"].unstack("variant")  # noqa: PD010 (keys are unique)


def _of_norms(one: Selected, repeats: Repeats, entry: Entry[RepeatabilityOptions]) -> dict[str, Any]:
    first, again = held_norms(one.frame, entry, one), norms_again(one, repeats, entry)
    found = norms_differ(differing(first, again))
    holds = first.notna().astype(np.float64)
    only_one = differing(holds, [each.reindex_like(first).notna().astype(np.float64) for each in again])
    return {
        "flows": len(first),
        "norms": found.n,
        "norms_differ": found.share,
        "norms_low": found.low,
        "norms_high": found.high,
        "norms_in_one": float(only_one.to_numpy().mean()) if len(only_one) else np.nan,
    }


COLUMNS = (
    *WHO,
    Column(
        "what",
        "What the numbers show. engine: at temperature 0 nothing is drawn, so what differs is from the engine alone; "
        "engine_and_sampling: above 0 every asking draws anew. Missing where the arm is asked once.",
    ),
    Column("askings", "How often the arm was asked. Every further asking is compared with the first."),
    Column("prompts", "Prompts of one asking."),
    Column(
        "replies", "Replies of the further askings that are compared: the engine failed in neither asking."
    ),
    Column("replies_differ", "Share of these that are not the first asking's, letter by letter."),
    Column(
        "failed", "Replies of the further askings that cannot be compared: the engine failed in one asking."
    ),
    Column("answers", "Prompts that were answered validly in the first and in a further asking."),
    Column(
        "answers_differ", "Share of the answers to these that are another level, over flows and templates."
    ),
    CONF_LOW._replace(about="Lower end of the 95% interval of answers_differ over other templates."),
    CONF_HIGH._replace(about="Upper end of the 95% interval of answers_differ over other templates."),
    Column(
        "statuses_differ",
        "Share of the replies that have another status, such as an answer in one asking and a refusal in the other.",
    ),
    Column("flows", "Flows that were asked about."),
    Column("norms", "Flows with a norm in the first and in a further asking, under the thresholds."),
    Column("norms_differ", "Share of these norms that are another level."),
    Column("norms_low", "Lower end of Wilson's 95% interval of norms_differ, over flows."),
    Column("norms_high", "Upper end of Wilson's 95% interval of norms_differ, over flows."),
    Column("norms_in_one", "Share of the flows that hold a norm in one asking only."),
    STATUS._replace(
        about="ok, or why numbers are missing: not_repeated (the arm is asked once), no_answers (none is valid in two "
        "askings), one_template (no interval)."
    ),
)

KINDS = (
    Kind(
        name="repeatability",
        about="What the engine alone changes: replies, answers and norms that differ when an arm is asked again.",
        options=RepeatabilityOptions,
        function=repeatability,
        reads="answers",
        also=("norms", "vignettes", "prompts", "repeats"),
        report_section="reliability",
        key=("arm", "model"),
        columns=COLUMNS,
        shown=(
            "arm",
            "model",
            "what",
            "askings",
            "prompts",
            "replies_differ",
            "answers_differ",
            "conf_low",
            "conf_high",
            "norms",
            "norms_differ",
            "norms_in_one",
            "status",
        ),
    ),
)
