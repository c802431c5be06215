"""Counts: how many answers of each level and status, how many flows kept under each pair of thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from cinorms.analyses.columns import T_MAJ, T_VAL, WHO
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfArms
from cinorms.norms import assessment

#: Columns of `answer_counts`.
ANSWER_COUNTS = (
    *WHO,
    Column("outcome", "The words of the option, or the status of an answer without a level."),
    Column("level", "Level of the option; missing for a status."),
    Column("status", "ok for a level, else why the answers have none."),
    Column("count", "Number of answers."),
    Column("share", "Share of all answers of the model in the arm."),
)


def answer_counts(selected: Sequence[Selected], entry: Entry[OfArms]) -> pd.DataFrame:
    """Return one row per arm, model and outcome: each level of the scale, then each status without a level.

    Counts add up to the number of answers, and of questions that decided flows were spared: raises ``DataError`` for an
    answer that none of them covers.
    """
    rows: list[tuple[Any, ...]] = []
    for arm, model, answers in selected:
        scale = entry.scales[arm]
        answers = answers.assign(level=scale.in_bins(answers["level"]))
        total = len(answers)
        levels = answers.loc[answers["status"] == "ok", "level"].value_counts()
        statuses = answers["status"].value_counts()
        _check_all_counted(arm, model, scale, answers, levels)
        for level, label in scale.binned.labels.items():
            count = int(levels.get(level, 0))
            rows.append((arm, model, label, level, "ok", count, _share(count, total)))
        for status in (*tables.ANSWER_STATUSES[1:], tables.NOT_ASKED):
            count = int(statuses.get(status, 0))
            if count or status not in {*tables.RARE_STATUSES, tables.NOT_ASKED}:
                rows.append((arm, model, status, pd.NA, status, count, _share(count, total)))
    columns = ["arm", "model", "outcome", "level", "status", "count", "share"]
    return pd.DataFrame(rows, columns=columns).astype({"level": "Int8", "share": "Float64"})


def _check_all_counted(arm: str, model: str, scale: Scale, answers: pd.DataFrame, levels: pd.Series) -> None:
    """Insist that every answer has a level of the scale, or a known status without one."""
    stray = set(answers["status"].unique()) - {*tables.ANSWER_STATUSES, tables.NOT_ASKED}
    n_ok = int((answers["status"] == "ok").sum())
    if stray or n_ok != levels.reindex(scale.binned.levels).sum():
        raise DataError(
            f"answers of {model} in {arm}: each needs a known status (unknown: {sorted(map(str, stray))}), "
            f"and a level among {scale.levels} where it is ok; delete the table and rerun"
        )


def norm_counts(selected: Sequence[Selected], entry: Entry[OfArms]) -> pd.DataFrame:
    """Return one row per arm, model, t_val, t_maj and status: the number and the share of flows."""
    rows = []
    for arm, model, norms in selected:
        for under in entry.grid:
            counts = assessment.status(norms, under).value_counts()
            used = under == entry.thresholds[model]
            for status in tables.NORM_STATUSES:
                count = int(counts.get(status, 0))
                share = _share(count, len(norms))
                rows.append((arm, model, under.t_val, str(under.t_maj), used, status, count, share))
    columns = ["arm", "model", "t_val", "t_maj", "used", "status", "flows", "share"]
    return pd.DataFrame(rows, columns=columns).astype({"share": "Float64"})


def _share(count: int, total: int) -> float | Any:
    return count / total if total else pd.NA


KINDS = (
    Kind(
        name="answer_counts",
        about="Answers per model by level and by status, before any filtering.",
        options=OfArms,
        function=answer_counts,
        reads="answers",
        decided="all",
        report_section="answers",
        key=("arm", "model", "outcome"),
        columns=ANSWER_COUNTS,
    ),
    Kind(
        name="norm_counts",
        about="Flows kept and discarded per model under each pair of the study's thresholds.",
        options=OfArms,
        function=norm_counts,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "t_val", "t_maj", "status"),
        columns=(
            *WHO,
            T_VAL,
            T_MAJ,
            Column("used", "Whether the study's other figures and analyses use this pair of thresholds."),
            Column("status", "kept, or why the flow has no norm."),
            Column("flows", "Flows with this status."),
            Column("share", "Share of all flows of the model in the arm."),
        ),
    ),
)
