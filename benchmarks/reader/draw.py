"""Draw replies of the study replies.yaml for coding.

``.venv/bin/python benchmarks/reader/draw.py N SEED FOLDER [CODED.csv ...]`` writes ``a.csv`` and ``b.csv``, the same
N distinct replies in two random orders, and ``drawn.csv``, what the reader needs to read them too. Replies in the files
CODED.csv were drawn before and are not drawn again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

STUDY = Path(__file__).parents[2] / "results/replies"


def replies() -> pd.DataFrame:
    """Return every distinct reply with the arm, template and order it first came in."""
    found = []
    for path in sorted(STUDY.glob("responses/*/*/*.parquet")):
        arm = path.parts[-3]
        frame = pd.read_parquet(path, columns=["variant", "order", "text", "finish_reason"]).astype(str)
        templates = pd.read_parquet(STUDY / f"prompts/{arm}.parquet").set_index("variant")["template"]
        found.append(frame.assign(arm=arm, template=frame["variant"].map(templates.astype(str))))
    whole = pd.concat(found, ignore_index=True)
    print(f"{len(whole):,} replies, {whole['text'].nunique():,} distinct texts")
    return whole.drop_duplicates(["text", "finish_reason"]).reset_index(drop=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("n", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("coded", type=Path, nargs="*")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    pool = replies()
    for path in given.coded:
        pool = pool[~pool["text"].isin(pd.read_csv(path, keep_default_na=False)["text"])]
    chance = np.random.default_rng(given.seed)
    drawn = pool.iloc[chance.permutation(len(pool))[: given.n]].reset_index(drop=True)
    drawn.insert(0, "id", range(1, len(drawn) + 1))
    drawn.to_csv(given.folder / "drawn.csv", index=False)
    shown = drawn.assign(cut=np.where(drawn["finish_reason"] == "length", "cut", ""))[
        ["id", "cut", "text", "template"]
    ]
    for name in ("a", "b"):
        shown.iloc[chance.permutation(len(shown))].to_csv(given.folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
