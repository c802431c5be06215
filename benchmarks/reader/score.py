"""Compare two codings of the same replies, and the reader with them.

``.venv/bin/python benchmarks/reader/score.py tests/data/real_replies.csv --draw 2``;
``--wrong`` lists where the reader and the code differ. A file has the columns of tests/data/real_replies.csv. Intervals
are Wilson's, 95%.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from tests.scales import ACCEPTABILITY, LEVELS

from cinorms.answers.reading.normalise import fixed_wording
from cinorms.answers.reading.rules import read_text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("coded", type=Path, nargs="+")
    parser.add_argument("--draw", type=int, help="only replies of this draw")
    parser.add_argument("--wrong", action="store_true", help="list where the reader and the code differ")
    given = parser.parse_args()
    rows = pd.concat([pd.read_csv(path, keep_default_na=False, dtype=str) for path in given.coded])
    if given.draw:
        rows = rows[rows["draw"] == str(given.draw)]
    rows = rows.assign(read=[read(row) for row in rows.to_dict("records")])
    print(f"{len(rows)} replies")
    agreement(rows["coder_a"], rows["coder_b"], "coder A and coder B, every code")
    agreement(rows["coder_a"].map(level), rows["coder_b"].map(level), "coder A and coder B, level or none")
    agreement(rows["code"], rows["read"], "code and reader, every code")
    is_level, read_level = rows["code"].isin(ACCEPTABILITY.options), rows["read"].isin(ACCEPTABILITY.options)
    right = rows["code"] == rows["read"]
    print(f"a level: precision {rate((right & read_level).sum(), read_level.sum())}")
    print(f"a level: recall    {rate((right & is_level).sum(), is_level.sum())}")
    print(f"a level where another was coded: {int((is_level & read_level & ~right).sum())}")
    print(f"a level where none was coded:    {int((~is_level & read_level).sum())}")
    for code in sorted(set(rows["code"]) - set(ACCEPTABILITY.options)):
        coded, got = rows["code"] == code, rows["read"] == code
        both = int((coded & got).sum())
        print(f"{code:14} precision {rate(both, got.sum())}   recall {rate(both, coded.sum())}")
    if given.wrong:
        for row in rows[~right].to_dict("records"):
            print(f"{row['code']:22} read {row['read']:22} {row['finish_reason']:6} {row['text']!r}")


def read(row: dict[str, str]) -> str:
    """Return the reader's verdict in the words of the codebook."""
    found = read_text(row["text"], ACCEPTABILITY, row["finish_reason"], fixed_wording(row["template"]))
    return ACCEPTABILITY.options[LEVELS.index(found.level)] if found.level is not None else found.status


def level(code: str) -> str:
    return code if code in ACCEPTABILITY.options else "none"


def agreement(a: pd.Series, b: pd.Series, name: str) -> None:
    """Print the share of equal codes and Cohen's kappa."""
    table = pd.crosstab(a, b)
    codes = sorted(set(a) | set(b))
    p = table.reindex(index=codes, columns=codes, fill_value=0).to_numpy() / len(a)
    chance = float(p.sum(axis=0) @ p.sum(axis=1))
    kappa = (np.trace(p) - chance) / (1 - chance)
    print(f"{name}: {rate((a.to_numpy() == b.to_numpy()).sum(), len(a))} the same, kappa {kappa:.2f}")


def rate(k: int, n: int) -> str:
    """Return a share with its interval."""
    if not n:
        return "-"
    between = binomtest(int(k), int(n)).proportion_ci(method="wilson")
    return f"{k / n:.3f} [{between.low:.3f}, {between.high:.3f}] ({int(k)}/{int(n)})"


if __name__ == "__main__":
    main()
