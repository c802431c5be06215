"""Learn the weights of the second reader from the labelled texts of this repository.

``.venv/bin/python benchmarks/reader/train.py`` writes the weights; ``--check`` prints instead, for each writer of
tests/data/replies_by_family.csv, how the reader does with weights learnt without that writer's texts. Never learnt
from: tests/data/replies_held_out.csv and the rows ``held_out`` of tests/data/phrases.csv.

A mention of the option that a text gives is a verdict, every other mention is none. Where a text names its option more
than once, only the mention that counts most so far has to be one.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from tests.scales import ACCEPTABILITY

from cinorms.answers.reading import second_reader
from cinorms.answers.reading.asked_text import AskedText
from cinorms.answers.reading.normalise import fixed_wording
from cinorms.answers.reading.rules import read_text
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER, PAPERS, Scale, papers_scale

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
#: Penalty on squared weights, and the smallest weight that is kept.
PENALTY, SMALLEST = 1.0, 0.06
#: How many texts each wording around a text is tried on.
WRAPPED = 20


class Text(NamedTuple):
    """A labelled text: the option that it gives, None for none, and who wrote it."""

    text: str
    verdict: str | None
    writer: str
    scale: Scale = ACCEPTABILITY
    finish: str = "stop"
    template: str = ""
    vote: float = 1.0


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of tests/data."""
    with (DATA / name).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def labelled_texts() -> list[Text]:
    """Return every text that may be learnt from."""

    def unescaped(text: str) -> str:
        return json.loads('"' + text.replace('"', '\\"') + '"')

    def of_scale(name: str) -> Scale:
        path = FOLDER / f"{name}.yaml"
        return (
            papers_scale(name)
            if name in PAPERS
            else load_scale(path if path.exists() else DATA / f"scales/{name}.yaml")
        )

    found = [Text(r["text"], _option(r["expected"]), r["by"]) for r in rows("replies_by_family.csv")]
    scales = {
        name: of_scale(name) for name in {r["scale"] for r in rows("replies_by_scale.csv")} | set(PAPERS)
    }
    found += [
        Text(r["text"], _option(r["expected"]), "scales", scales[r["scale"]])
        for r in rows("replies_by_scale.csv")
    ]
    for r in rows("answers_labelled.csv"):
        scale = scales[r["scale"]]
        verdict = scale.label(int(r["level"])) if r["level"] else None
        found.append(
            Text(
                unescaped(r["text"]), verdict, "labelled", scale, r["finish_reason"], unescaped(r["template"])
            )
        )
    for r in rows("real_replies.csv"):
        verdict = r["code"] if r["code"] in ACCEPTABILITY.options else None
        found.append(
            Text(r["text"], verdict, "model" + r["draw"], finish=r["finish_reason"], template=r["template"])
        )
    return found + phrases("train")


def _option(expected: str) -> str | None:
    return None if expected == "none" else expected


def phrases(part: str) -> list[Text]:
    """Return the phrases of one part with options put in, and with the wordings around them."""
    chance = random.Random(part)
    table = [row for row in rows("phrases.csv") if row["part"] == part]
    found = []
    for row in table:
        for _ in range(2 if row["family"] != "wrap" else 0):
            x, y, z = chance.sample(ACCEPTABILITY.options, 3)
            text = row["text"].replace("{x}", x).replace("{y}", y).replace("{z}", z)
            text = text[0].upper() + text[1:] if chance.random() < 0.6 else text
            found.append(Text(text, x if row["verdict"] == "x" else None, "phrases"))
    plain = [text for text in found if text.verdict and len(text.text) < 120]
    none = [text for text in found if not text.verdict and len(text.text) < 120]
    for row in table:
        for k in range(WRAPPED if row["family"] == "wrap" else 0):
            inner = chance.choice(none if row["verdict"] == "keep" and k % 3 == 2 else plain)
            verdict = inner.verdict if row["verdict"] == "keep" else None
            text = row["text"].replace("{t}", inner.text)
            found.append(inner._replace(text=text, verdict=verdict, vote=0.4))
    return found


class Example(NamedTuple):
    """One mention of an option: its features, whether its text gives that option, and the number of its text."""

    features: set[str]
    verdict: bool
    text: int
    vote: float


def examples(texts: list[Text]) -> list[Example]:
    """Return every mention of the texts."""
    found = []
    for number, text in enumerate(texts):
        words = fixed_wording(text.template) if text.template else frozenset()
        asked = AskedText(text.text, text.scale, text.finish, words)
        chosen = text.scale.options.index(text.verdict) if text.verdict in text.scale.options else None
        for mention, names in zip(
            asked.mentions, second_reader.features(asked.body, asked.mentions), strict=True
        ):
            found.append(Example(names, mention.option == chosen, number, text.vote))
    return found


def learn(learnt: list[Example]) -> dict[str, int]:
    """Return the weight of each feature, in hundredths."""
    often = Counter(name for example in learnt for name in example.features)
    names = sorted(name for name, n in often.items() if n > 1)
    column = {name: i for i, name in enumerate(names)}
    cells = [[column[name] for name in sorted(example.features) if name in column] for example in learnt]
    ends = np.cumsum([0, *map(len, cells)])
    matrix = csr_matrix((np.ones(ends[-1]), np.concatenate(cells), ends), shape=(len(cells), len(names)))
    verdict = np.array([example.verdict for example in learnt], dtype=float)
    text = np.array([example.text for example in learnt])
    # A text with many mentions counts for more than one with few, but not as many times.
    vote = np.array([example.vote for example in learnt]) / np.sqrt(np.bincount(text)[text])
    weights, kept = np.zeros(len(names)), np.ones(len(verdict), dtype=bool)
    for _ in range(3):
        part, right, votes = matrix[kept], verdict[kept], vote[kept]

        def loss(w, part=part, right=right, votes=votes):
            sums = part @ w
            chance = 1 / (1 + np.exp(-sums))
            value = votes @ (np.logaddexp(0, sums) - right * sums) + 0.5 * PENALTY * (w @ w)
            return value, part.T @ (votes * (chance - right)) + PENALTY * w

        weights = minimize(loss, weights, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
        sums = matrix @ weights
        best: dict[int, float] = defaultdict(lambda: -np.inf)
        for number, is_verdict, total in zip(text, verdict, sums, strict=True):
            best[number] = max(best[number], total) if is_verdict else best[number]
        kept = np.array([not v or s >= best[n] for n, v, s in zip(text, verdict, sums, strict=True)])
    return {name: round(100 * w) for name, w in zip(names, weights, strict=True) if abs(w) >= SMALLEST}


def outcome(texts: list[Text], weights: dict[str, int]) -> tuple[int, int, int]:
    """Return how many texts get a wrong level, how many stated levels are missed, and how many are stated."""
    second_reader._weights = lambda: weights
    wrong = missed = stated = 0
    for text in texts:
        words = fixed_wording(text.template) if text.template else frozenset()
        level = read_text(text.text, text.scale, text.finish, words).level
        found = None if level is None else text.scale.label(level)
        wrong += found is not None and found != text.verdict
        missed += text.verdict is not None and found is None
        stated += text.verdict is not None
    return wrong, missed, stated


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="learn without each writer's texts and read those"
    )
    given = parser.parse_args()
    texts = labelled_texts()
    known = examples(texts)
    if given.check:
        for writers in (
            "a",
            "b",
            "c",
            "d",
            "e",
            "f",
            "g",
            "h",
            "mn",
            ("labelled",),
            ("scales",),
            ("model1",),
            ("model2",),
        ):
            tested = {i for i, text in enumerate(texts) if text.writer in writers}
            weights = learn([example for example in known if example.text not in tested])
            wrong, missed, stated = outcome([texts[i] for i in sorted(tested)], weights)
            print(
                f"{''.join(writers):9} {len(tested):5} texts: {wrong:3} wrong, {missed:3} of {stated:4} missed",
                flush=True,
            )
        return
    weights = learn(known)
    cells = [f"{json.dumps(name, ensure_ascii=False)}:{weight}" for name, weight in sorted(weights.items())]
    content = "{" + ",\n".join(",".join(cells[i : i + 100]) for i in range(0, len(cells), 100)) + "}\n"
    second_reader.WEIGHTS.write_text(content, encoding="utf-8")
    module = Path(second_reader.__file__)
    digest = hashlib.sha256(content.encode()).hexdigest()
    module.write_text(
        re.sub(r'SHA256 = ".*"', f'SHA256 = "{digest}"', module.read_text(encoding="utf-8")), encoding="utf-8"
    )
    print(f"{len(texts):,} texts, {len(known):,} mentions, {len(weights):,} weights, {len(content):,} bytes")


if __name__ == "__main__":
    main()
