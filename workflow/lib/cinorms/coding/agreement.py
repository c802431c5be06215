"""Does the coder agree with a person? Its codes count only where a sample shows it."""

from __future__ import annotations

import pandas as pd

from cinorms.answers.distinct import NO_LEVEL

#: The two kinds of codes, each judged on its own: a wrong level and a missed one are different mistakes.
KINDS = ("level", "no level")
#: Why the codes of one kind count or not.
COUNTS, INCOMPLETE, TOO_LOW, NONE = "counts", "sample_incomplete", "agreement_too_low", "no_codes"


def compare(coded: pd.DataFrame, sample: pd.DataFrame, by_hand: pd.DataFrame, needed: float) -> pd.DataFrame:
    """Return one row per kind of code: how many the coder gave, and how many of the sample a person confirms.

    A level is confirmed where the person gives the same level, a code without a level where the person gives
    none either. The interval is Wilson's, 95%; its unit is a distinct reply to a flow. The codes of a kind count
    (``status``) where all of its sample is coded by hand and the interval's lower end reaches ``needed``.
    """
    from statsmodels.stats.proportion import proportion_confint

    pairs = sample.merge(by_hand, on="item", how="left", suffixes=("", "_by_hand"))
    rows = []
    for kind in KINDS:
        is_kind = pairs["level"].notna() if kind == "level" else pairs["level"].isna()
        given = coded["level"].notna() if kind == "level" else coded["level"].isna() & coded["status"].notna()
        part = pairs[is_kind]
        done = part[part["status_by_hand"].notna()]
        same = (done["level"].fillna(NO_LEVEL) == done["level_by_hand"].fillna(NO_LEVEL)).to_numpy(dtype=bool)
        n, agreed = len(done), int(same.sum())
        low, high = proportion_confint(agreed, n, method="wilson") if n else (None, None)
        if not given.any():
            status = NONE
        elif n < len(part):
            status = INCOMPLETE
        else:
            status = COUNTS if low is not None and low >= needed else TOO_LOW
        rows.append(
            {
                "kind": kind,
                "codes": int(given.sum()),
                "sample": len(part),
                "coded_by_hand": n,
                "agreed": agreed,
                "share": agreed / n if n else None,
                "low": low,
                "high": high,
                "needed": needed,
                "status": status,
            }
        )
    return pd.DataFrame(rows).astype({"share": "float64", "low": "float64", "high": "float64"})
