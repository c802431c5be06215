"""How far the texts of one model agree that was asked in several ways, after the study servers.yaml has run."""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd

STUDY = Path(__file__).parents[2] / "results/servers"


def main() -> None:
    frames = {}
    for path in sorted(STUDY.glob("responses/text/*/1-of-1.parquet")):
        model = path.parent.name
        responses, answers = pd.read_parquet(path), pd.read_parquet(STUDY / f"answers/text/{model}.parquet")
        frames[model] = responses[["flow", "variant", "text"]].assign(
            level=answers["level"], status=answers["status"]
        )
    for a, b in itertools.combinations(frames, 2):
        both = frames[a].merge(frames[b], on=["flow", "variant"], validate="one_to_one")
        text = both["text_x"].astype(str) == both["text_y"].astype(str)
        start = [x[:20] == y[:20] for x, y in zip(both["text_x"], both["text_y"], strict=True)]
        status = both["status_x"].astype(str) == both["status_y"].astype(str)
        valid = both["level_x"].notna() & both["level_y"].notna()
        level = (both["level_x"] == both["level_y"])[valid]
        print(
            f"{a} and {b}: {len(both)} prompts, same text {text.mean():.1%}, same first 20 characters "
            f"{sum(start) / len(start):.1%}, same status {status.mean():.1%}, same level {level.mean():.1%} "
            f"of {int(valid.sum())} where both have one"
        )


if __name__ == "__main__":
    main()
