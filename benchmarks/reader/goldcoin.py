"""Read the replies that GoldCoin published (ten runs of five models on court cases) with the offered words as options.

``.venv/bin/python benchmarks/reader/goldcoin.py FOLDER``, with eval/results of github.com/HKUST-KnowComp/GoldCoin.
Prints what is read where a reply writes one of the two verdicts word for word and never the other.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from cinorms.answers.reading.rules import read_text
from cinorms.core.scales import Scale

OPTIONS = ("HIPAA Privacy Rule forbids the case", "HIPAA Privacy Rule permits the case")
SCALE = Scale("goldcoin", "GoldCoin", "verdict", OPTIONS, (-1, 1))
_VERDICT = re.compile(r"privacy rule (permits|forbids) the case\b(?! *(?:to|'s))", re.IGNORECASE)


#: What is in a file's name, and the model that it stands for.
MODELS = {"gpt-35-turbo": "GPT-3.5", "gpt-4": "GPT-4", "llama": "Llama 2 chat", "mistral": "Mistral"}


def model_of(path: Path) -> str:
    """Return the model whose run a file has; tuned ones are with the model that was tuned."""
    return next(model for part, model in MODELS.items() if part in path.name)


def read_run(path: Path) -> list[tuple[str, str, str]]:
    """Return of each reply of a run the verdict that it writes word for word, the one that is read, and the rule."""
    rows = []
    for text in pd.read_csv(path)["response"].fillna("").astype(str):
        written = {verdict.lower() for verdict in _VERDICT.findall(text)}
        found = read_text(text, SCALE)
        read = {-1: "forbids", 1: "permits", None: "no level"}[found.level]
        rows.append((" and ".join(sorted(written)) or "neither", read, found.rule))
    return rows


def main() -> None:
    rows = [row for path in sorted(Path(sys.argv[1]).glob("*.csv")) for row in read_run(path)]
    table = pd.DataFrame(rows, columns=["written", "read", "rule"])
    print(pd.crosstab(table["written"], table["read"]).to_string())
    print(table.loc[table["read"] != "no level", "rule"].value_counts().to_string())


if __name__ == "__main__":
    main()
