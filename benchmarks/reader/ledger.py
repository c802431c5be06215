"""Count for each rule of the reader the real replies that it decided, by model: ``ledger.csv`` of the reader.

``.venv/bin/python benchmarks/reader/ledger.py FOLDER``, with eval/results of github.com/HKUST-KnowComp/GoldCoin: the
replies of other models than that of tests/data/real_replies.csv. `make docs` shows the counts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from goldcoin import model_of, read_run

from cinorms.answers.reading.normalise import fixed_wording
from cinorms.answers.reading.rules import read_text
from cinorms.core.scales import papers_scale

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ROOT / "workflow/lib/cinorms/answers/reading/ledger.csv"


def of_small_model() -> pd.Series[int]:
    """Return how many of the 800 replies of SmolLM2-135M-Instruct each rule decided."""
    scale = papers_scale("acceptability")
    rows = pd.read_csv(ROOT / "tests" / "data" / "real_replies.csv", keep_default_na=False, dtype=str)
    rules = [
        read_text(row.text, scale, row.finish_reason, fixed_wording(row.template)).rule
        for row in rows.itertuples()
    ]
    return pd.Series(rules).value_counts()


def main() -> None:
    counts = {"SmolLM2-135M-Instruct": of_small_model()}
    for path in sorted(Path(sys.argv[1]).glob("*.csv")):
        found = pd.Series([rule for *_, rule in read_run(path)]).value_counts()
        counts[model_of(path)] = counts.get(model_of(path), found * 0).add(found, fill_value=0).astype(int)
    table = pd.DataFrame(counts).fillna(0).astype(int).rename_axis("rule").reset_index()
    long = table.melt("rule", var_name="model", value_name="n").query("n > 0").sort_values(["rule", "model"])
    long.to_csv(LEDGER, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
