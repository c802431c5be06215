"""Kind ``cases``: is a flow answered consistently, and near to the value expected of it (PETS Figure 1).

The paper sketches four cases and gives no limits. Those here are options of the entry, and this project's choice.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.deltas import bias_and_points
from cinorms.analyses.shared import EntryPlace, for_each_model
from cinorms.core.schema import LeftOut, Number
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows, TVal
from cinorms.norms import distances

#: What a flow can be, in the order of the table.
CASES = {
    "A": "consistent, and near the expected value",
    "B": "no spread, and far from the expected value",
    "C": "little spread, and far from the expected value",
    "D": "so much spread that no bias can be read",
    "consistent": "none or little spread, but no expected value",
    "no_answers": "fewer valid answers than t_val, or than two",
}
#: A spread as small as this is none: it is a root of rounded sums.
NONE = 1e-9


class CasesOptions(OfFlows):
    """Options of the four cases."""

    near: Number = Field(0.5, ge=0, le=1_000)
    """A mean answer at most this many levels from the expected value is near it. This project's choice: the paper
    states no limit."""
    little: Number = Field(0.75, gt=0, le=1_000)
    """Answers whose standard deviation is at most this many levels are consistent. This project's choice: the paper
    states no limit."""
    t_val: TVal = Field(2, description="Valid answers that a flow needs; at least two.")
    expected: LeftOut[str] = None
    """A CSV file of expected values, as for kind delta. Default: the dataset's own values."""

    def check(self, place: EntryPlace) -> None:
        """Check that the file of expected values exists."""
        super().check(place)
        place.check_file("expected", self.expected)


@for_each_model
def cases_of_flows(
    one: Selected, entry: Entry[CasesOptions], vignettes: pd.DataFrame, expected: Path | None
) -> pd.DataFrame:
    """Return flow, bias (mean answer less expected value), spread (standard deviation), both in levels, and case."""
    options, levels = entry.options, entry.scales[one.arm].levels
    values = distances.mean_values(one.frame, max(2, options.t_val))
    table, points = bias_and_points(one, values, entry, vignettes, expected)
    step = (points[-1] - points[0]) / (levels[-1] - levels[0])
    bias = table["delta"].to_numpy(dtype=np.float64, na_value=np.nan) / step
    variance = one.frame.set_index("flow")["variance"].reindex(table["flow"])
    spread = np.sqrt(np.maximum(variance.to_numpy(dtype=np.float64, na_value=np.nan), 0))
    spread[(table["status"] != "kept").to_numpy()] = np.nan
    unknown, near = np.isnan(bias), np.abs(bias) <= options.near
    tests = [np.isnan(spread), spread > options.little, unknown, near, spread <= NONE]
    case = np.select(tests, ["no_answers", "D", "consistent", "A", "B"], "C")
    return pd.DataFrame({"flow": table["flow"].to_numpy(), "bias": bias, "spread": spread, "case": case})


@for_each_model
def cases(
    one: Selected, entry: Entry[CasesOptions], vignettes: pd.DataFrame, expected: Path | None
) -> pd.DataFrame:
    """Return how many flows of a model are in each case."""
    found = cases_of_flows([one], entry, vignettes={one.arm: vignettes}, expected=expected)
    flows = found["case"].value_counts().reindex(list(CASES), fill_value=0).to_numpy()
    words = {"case": list(CASES), "meaning": list(CASES.values())}
    table = pd.DataFrame({**words, "flows": flows, "of": len(found)})
    share = (table["flows"] / table["of"]).astype("Float64")
    return table.assign(share=share, status="ok" if len(found) else "no_flows")


KINDS = (
    Kind(
        name="cases",
        about="Flows by bias against spread: the cases A to D of PETS Figure 1; its limits are this project's choice.",
        function=cases,
        reads="norms",
        decided="pilot",
        report_section="delta",
        key=("arm", "model", "case"),
        columns={
            **WHO,
            "case": "A, B, C or D as in the paper; consistent where there is no expected value; no_answers.",
            "meaning": "The case in words.",
            "flows": "Flows in this case.",
            "of": "All flows of the model in the arm.",
            "share": "flows / of.",
            **usual("status"),
        },
    ),
)
