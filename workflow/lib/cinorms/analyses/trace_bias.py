"""Kind ``trace_bias``: position bias against the length of the trace."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import ESTIMATE, INTERVAL, WHO, names
from cinorms.analyses.shared import for_each_model, templates_of
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfArms
from cinorms.stats import trace_bias


class TraceOptions(OfArms):
    """Options of position bias against the length of the trace."""

    unit: Literal["flow", "template"] = Field(
        "flow",
        description="What an interval generalises to: answers to one flow, or in one template, depend on each other.",
    )
    parts: int = Field(
        3,
        ge=2,
        le=20,
        description="Parts of about the same size that the answers are in by length of the trace.",
    )


@for_each_model
def bias_by_trace(one: Selected, entry: Entry[TraceOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return `stats.trace_bias.trace_bias` of every model in every arm."""
    options = entry.options
    frame = one.frame
    of_template = options.unit == "template"
    units = templates_of(frame, prompts) if of_template else frame["flow"]
    return trace_bias.trace_bias(frame, pd.Series(units).to_numpy(), entry.scales[one.arm], options.parts)


_MEASURE = Column(
    "measure",
    "slope: what 1,000 tokens of trace add to the excess; excess: how much more often the option at the position is "
    "chosen than its level is among the other answers to the flow.",
)
_PART = Column(
    "part", "Part of the answers by length of the trace, 1 the shortest; 0 for the slope, which is over all."
)
_POSITION = Column("position", "Position at which an option was shown; 1 is the first.")
_MEAN = Column("tokens_mean", "Mean length of the traces of the part, in tokens.")
_N = Column("n", "Valid answers of the part whose order and trace length are known.")
_STATUS = Column(
    "status",
    "ok, or why there is no number: no_answers, no_order, no_trace_lengths, one_length (all traces are as long), "
    "one_answer_per_flow, no_such_length (equal lengths leave the part empty), one_unit (no interval).",
)

KINDS = (
    Kind(
        name="trace_bias",
        about="Position bias against the length of the trace: how far answers after longer reasoning follow the "
        "position of an option.",
        options=TraceOptions,
        function=bias_by_trace,
        reads="answers",
        also=("prompts",),
        decided="block",
        report_section="sensitivity",
        key=("arm", "model", "measure", "part", "position"),
        columns=(
            *WHO,
            _MEASURE,
            _PART,
            _POSITION,
            Column("tokens_low", "Shortest trace of the part, in tokens."),
            Column("tokens_high", "Longest trace of the part, in tokens."),
            _MEAN,
            ESTIMATE,
            *INTERVAL,
            _N,
            Column(
                "n_unknown",
                "Valid answers whose order is known but not the length of their trace; in no row.",
            ),
            Column("n_units", "Flows or templates, as the option unit states, in the interval."),
            _STATUS,
        ),
        shown=names(*WHO, _MEASURE, _PART, _POSITION, _MEAN, ESTIMATE, *INTERVAL, _N, _STATUS),
    ),
)
