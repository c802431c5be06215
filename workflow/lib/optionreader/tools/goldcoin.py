"""Read the replies that GoldCoin published (ten runs of five models on court cases) with the offered words as options.

``python tools/goldcoin.py FOLDER``, with eval/results of github.com/HKUST-KnowComp/GoldCoin. Prints how often each
verdict is read, by the verdict that a reply writes word for word.
"""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

from optionreader import Scale, read

OPTIONS = ("HIPAA Privacy Rule forbids the case", "HIPAA Privacy Rule permits the case")
SCALE = Scale(name="goldcoin", options=OPTIONS, levels=(-1, 1))
VERDICT = re.compile(r"privacy rule (permits|forbids) the case\b(?! *(?:to|'s))", re.IGNORECASE)


def main() -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for path in sorted(Path(sys.argv[1]).glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as handle:
            for row in csv.DictReader(handle):
                written = sorted({verdict.lower() for verdict in VERDICT.findall(row["response"])})
                found = {-1: "forbids", 1: "permits", None: "no level"}[read(row["response"], SCALE).level]
                counts[" and ".join(written) or "neither", found] += 1
    for (written, found), n in sorted(counts.items()):
        print(f"{written:20} read as {found:8} {n:5}")


if __name__ == "__main__":
    main()
