"""What is missing: answers that are not valid, and flows that the thresholds remove (PETS section 4.3, Tables 2, 3).

For both: how much is missing where, and how much it could change what remains.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import scipy

from cinorms.core import tables
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cumulink import tails
from rewordings import Consensus, Majority
from rewordings.arrays import divide

#: Smallest expected count for which the chi-square approximation is commonly trusted.
MIN_EXPECTED = 5


def discarded(norms: pd.DataFrame, grid: Iterable[Thresholds]) -> pd.DataFrame:
    """Return how many flows each of the thresholds discards (Table 2), a row each (`thresholds.grid`)."""
    rows = []
    for thresholds in grid:
        status = assessment.status(norms, thresholds)
        n = {s: int((status == s).sum()) for s in tables.NORM_STATUSES}
        enough, gone = len(norms) - n["below_t_val"], n["no_majority"] + n["tie"]
        rows.append(
            {"t_val": thresholds.t_val, "t_maj": str(thresholds.t_maj), "flows": len(norms)}
            | {"below_t_val": n["below_t_val"], "of": enough}
            | {"no_majority": n["no_majority"], "tie": n["tie"], "discarded": gone, "kept": n["kept"]}
            | {"share_discarded": gone / enough if enough else np.nan}
            | {"status": "ok" if enough else "no_flows"}
        )
    return pd.DataFrame(rows)


def lost(
    norms: pd.DataFrame, t_val: int, steps: Sequence[tuple[Majority, Majority]], consensus: Consensus
) -> pd.DataFrame:
    """Return which share of the norms is lost from one majority threshold to a higher one (Table 3)."""
    rows = []
    for lower, higher in steps:
        under = (Thresholds(t_val, t_maj, consensus) for t_maj in (lower, higher))
        before, after = (assessment.held(norms, needed)["value"] for needed in under)
        gone = int((before.notna() & after.isna()).sum())
        rows.append(
            {"t_val": t_val, "from": str(lower), "to": str(higher), "flows": len(norms)}
            | {"kept_from": int(before.notna().sum()), "lost": gone}
            | {"share_lost": gone / len(norms) if len(norms) else np.nan}
            | {"changed": int((before != after).sum())}
            | {"status": "ok" if len(norms) else "no_flows"}
        )
    return pd.DataFrame(rows)


def minority(norms: pd.DataFrame) -> pd.DataFrame:
    """Return, per flow with a value, how the valid answers outside it deviate (PETS Figure 6).

    Columns: flow, n_minority, share (n_minority / n_valid), variance (of the minority, divided by their
    number), deviation (mean absolute distance from the value), max_deviation, single_dissent, status:
    ``ok``, ``unanimous`` (no minority: the numbers about it are missing) or ``no_value``.
    """
    counts, levels = assessment.counted(norms)
    value = norms["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    others = np.where(value[:, None] == levels, 0, counts)
    has_value = ~np.isnan(value)
    n = np.where(has_value, others.sum(axis=1), 0)
    distance = np.abs(levels - value[:, None])
    mean, some = divide(others @ levels, n), n > 0
    return pd.DataFrame(
        {
            "flow": norms["flow"].to_numpy(),
            "n_minority": n.astype(np.int32),
            "share": np.where(has_value, divide(n, counts.sum(axis=1)), np.nan),
            "variance": divide((others * (levels - mean[:, None]) ** 2).sum(axis=1), n),
            "deviation": divide((others * distance).sum(axis=1), n),
            "max_deviation": np.where(some, (distance * (others > 0)).max(axis=1, initial=0), np.nan),
            "single_dissent": n == 1,
            "status": np.select([~has_value, ~some], ["no_value", "unanimous"], "ok"),
        }
    )


def association(flows: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return whether being discarded is associated with each factor: Pearson's chi-square test.

    ``flows`` has the ``factors`` of each flow, and whether it was ``kept``. The p-values are for each factor alone:
    correct them for the number of tests.
    """
    rows = []
    for factor in factors:
        table = pd.crosstab(flows[factor].astype(str), flows["kept"]).to_numpy()
        n = int(table.sum())
        numbers = (np.nan, 0, np.nan, np.nan)
        if flows.empty:
            status = "no_flows"
        elif flows["kept"].all():
            status = "none_discarded"
        elif not flows["kept"].any():
            status = "all_discarded"
        elif len(table) < 2:
            status = "one_level"
        else:
            found = scipy.stats.chi2_contingency(table, correction=False)
            status = "low_expected" if found.expected_freq.min() < MIN_EXPECTED else "ok"
            log10_p = tails.log10_p(found.statistic, found.dof)
            numbers = (found.statistic, found.dof, log10_p, float(np.sqrt(found.statistic / n)))
        rows.append((factor, *numbers, n, status))
    columns = ["factor", "statistic", "dof", "log10_p", "cramers_v", "flows", "status"]
    return pd.DataFrame(rows, columns=columns)
