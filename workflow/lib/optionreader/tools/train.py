"""Learn the weights of the classifier from the labelled texts of this repository.

``python tools/train.py`` (with optionreader[train] installed) writes the weights. ``--check`` prints instead how the
reader reads each writer, with weights learnt without the texts of that writer and a few others. Never learnt from:
tests/data/replies_held_out.csv, and the rows ``held_out`` of phrases.csv.

A mention of the option that a text gives is a verdict, every other mention is none. Where a text names its option more
than once, only the mention that counts most so far has to be one.
"""

import argparse
import hashlib
import json
import random
import re
import sys
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from optionreader import STATUSES, Scale, classifier, fixed_parts, read
from optionreader.reply import Reply

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from texts import ACCEPT, LEARNT, rows, scale_of

#: Penalty on squared weights, the smallest weight that is kept, and at how many places a feature must be found.
PENALTY, SMALLEST, OFTEN = 1.0, 0.06, 2
#: Words of the sentences around count for half: most of them say what the flow is, and not what the verdict is.
AROUND, HALF = re.compile(r"[ef]2? (?!K)"), 0.5
#: Writers whose texts are left out together where it is checked how those of each are read.
LEFT_OUT = (
    ("writer p", "writer q", "writer t", "g", "h"),
    ("writer r", "writer s", "writer u", "e", "f"),
    ("fresh natural", "fresh misleading", "writer v", "c", "d"),
    ("third writer", "two writers", "a", "b"),
    ("m", "n", "labelled", "scales 1", "scales 2"),
    ("model1",),
    ("model2",),
)
#: How many texts each wording around a text is tried on.
WRAPPED = 20


class Text(NamedTuple):
    """A labelled text: the option that it gives, None for none, and who wrote it.

    ``cases`` are the options that it gives, where it gives one for each of several cases.
    """

    text: str
    verdict: str | None
    writer: str
    scale: Scale = ACCEPT
    finish: str = "stop"
    template: str = ""
    vote: float = 1.0
    cases: tuple[str, ...] = ()


def labelled_texts() -> list[Text]:
    """Return every text that may be learnt from."""
    found = []
    for row in (row for name in LEARNT for row in rows(name)):
        scale, finish = scale_of(row.get("scale", "")), row.get("finish_reason") or "stop"
        verdict = None if row["expected"] in ("none", *STATUSES) else row["expected"]
        cases = scale.options if row["expected"] == "conditional" else ()
        template = row.get("template", "")
        found.append(Text(row["text"], verdict, row["by"], scale, finish, template, cases=cases))
    return found + phrases("train")


def phrases(part: str) -> list[Text]:
    """Return the phrases of one part with options put in, reasons after them, and wordings around them."""
    chance = random.Random(part)
    table = [row for row in rows("phrases") if row["part"] == part]
    found = []
    for row in table:
        for _ in range(2 if row["family"] not in ("wrap", "reason") else 0):
            x, y, z = chance.sample(ACCEPT.options, 3)
            text = row["text"].replace("{x}", x).replace("{y}", y).replace("{z}", z)
            text = text[0].upper() + text[1:] if chance.random() < 0.6 else text
            cases = (x, y, z) if row["verdict"] == "cases" else ()
            found.append(Text(text, x if row["verdict"] == "x" else None, "phrases", cases=cases))
    plain = [text for text in found if text.verdict and len(text.text) < 120]
    none = [text for text in found if not text.verdict and len(text.text) < 120]
    ends = [text for text in plain if text.text.rstrip(".").endswith(text.verdict)]
    reasons = [row["text"] for row in table if row["family"] == "reason"]
    for reason, _ in product(reasons, range(WRAPPED)):
        inner = chance.choice(ends)
        plain.append(inner._replace(text=f"{inner.text.rstrip('.')}{reason}.", vote=0.4))
    found += plain[-len(reasons) * WRAPPED :] if reasons else []
    for row in table:
        for k in range(WRAPPED if row["family"] == "wrap" else 0):
            inner = chance.choice(none if row["verdict"] == "keep" and k % 3 == 2 else plain)
            text = row["text"].replace("{t}", inner.text)
            void = {} if row["verdict"] == "keep" else {"verdict": None, "cases": ()}
            found.append(inner._replace(text=text, vote=0.4, **void))
    return found


class Example(NamedTuple):
    """One mention of an option: its features, whether its text gives it, or for a case, and the text's number."""

    features: set[str]
    verdict: bool
    case: bool
    text: int
    vote: float


def examples(texts: list[Text]) -> list[Example]:
    """Return every mention of the texts."""
    found = []
    for number, text in enumerate(texts):
        reply = Reply(text.text, text.scale, text.finish, fixed_parts(text.template))
        chosen = text.scale.options.index(text.verdict) if text.verdict in text.scale.options else None
        for mention, names in zip(
            reply.mentions, classifier.features(reply.body, reply.mentions), strict=True
        ):
            of_case = mention.option >= 0 and text.scale.options[mention.option] in text.cases
            found.append(Example(names, mention.option == chosen, of_case, number, text.vote))
    return found


class Table(NamedTuple):
    """Examples as a table of features, and how much each feature counts."""

    names: list[str]
    counts: np.ndarray
    cells: csr_matrix
    text: np.ndarray
    vote: np.ndarray


def as_table(learnt: list[Example]) -> Table:
    """Return the examples as a table of the features that are found often."""
    often = Counter(name for example in learnt for name in example.features)
    names = sorted(name for name, n in often.items() if n >= OFTEN)
    counts = np.array([HALF if AROUND.match(name) else 1.0 for name in names])
    column = {name: i for i, name in enumerate(names)}
    cells = [[column[name] for name in sorted(example.features) if name in column] for example in learnt]
    ends = np.cumsum([0, *map(len, cells)])
    columns = np.concatenate(cells)
    matrix = csr_matrix((counts[columns], columns, ends), shape=(len(cells), len(names)))
    text = np.array([example.text for example in learnt])
    # A text with many mentions counts for more than one with few, but not as many times.
    vote = np.array([example.vote for example in learnt]) / np.sqrt(np.bincount(text)[text])
    return Table(names, counts, matrix, text, vote)


def fit(table: Table, right: np.ndarray, kept: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the weights by which the features tell which of the ``kept`` examples are ``right``, from ``start`` on."""
    part, answer, votes = table.cells[kept], right[kept], table.vote[kept]

    def loss(w):
        sums = part @ w
        chance = 1 / (1 + np.exp(-sums))
        value = votes @ (np.logaddexp(0, sums) - answer * sums) + 0.5 * PENALTY * (w @ w)
        return value, part.T @ (votes * (chance - answer)) + PENALTY * w

    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x


def learn(learnt: list[Example]) -> dict[str, list[int]]:
    """Return the two weights of each feature, in hundredths: for a verdict, and for the verdict on a case."""
    table = as_table(learnt)
    verdict, case = (np.array([e[at] for e in learnt], dtype=float) for at in (1, 2))
    everything = kept = np.ones(len(learnt), dtype=bool)
    weights = nothing = np.zeros(len(table.names))
    for _ in range(3):
        weights = fit(table, verdict, kept, weights)
        sums = table.cells @ weights
        best: dict[int, float] = defaultdict(lambda: -np.inf)
        for number, is_verdict, total in zip(table.text, verdict, sums, strict=True):
            best[number] = max(best[number], total) if is_verdict else best[number]
        kept = np.array([not v or s >= best[n] for n, v, s in zip(table.text, verdict, sums, strict=True)])
    both = np.stack([weights, fit(table, case, everything, nothing)], axis=1) * table.counts[:, None]
    both = np.round(100 * np.where(np.abs(both) >= SMALLEST, both, 0)).astype(int).tolist()
    return {name: pair for name, pair in zip(table.names, both, strict=True) if any(pair)}


def outcome(texts: list[Text], weights: dict[str, list[int]]) -> tuple[int, int, int]:
    """Return how many texts get a wrong level, how many stated levels are missed, and how many are stated."""
    pairs = [{name: pair[at] for name, pair in weights.items()} for at in (0, 1)]
    classifier._weights = lambda: pairs
    wrong = missed = stated = 0
    for text in texts:
        prompt = fixed_parts(text.template)
        level = read(text.text, text.scale, finish_reason=text.finish, prompt=prompt).level
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
        for writers in LEFT_OUT:
            without = {i for i, text in enumerate(texts) if text.writer in writers}
            weights = learn([example for example in known if example.text not in without])
            for writer in writers:
                tested = [text for text in texts if text.writer == writer]
                wrong, missed, stated = outcome(tested, weights)
                counts = f"{wrong:3} wrong, {missed:3} of {stated:4} missed"
                print(f"{writer:16} {len(tested):5} texts: {counts}", flush=True)
        return
    weights = learn(known)
    cells = [f"{json.dumps(name, ensure_ascii=False)}:[{v},{c}]" for name, (v, c) in sorted(weights.items())]
    content = "{" + ",\n".join(",".join(cells[i : i + 100]) for i in range(0, len(cells), 100)) + "}\n"
    classifier.WEIGHTS.write_text(content, encoding="utf-8")
    module = Path(classifier.__file__)
    digest = hashlib.sha256(content.encode()).hexdigest()
    module.write_text(
        re.sub(r'SHA256 = ".*"', f'SHA256 = "{digest}"', module.read_text(encoding="utf-8")), encoding="utf-8"
    )
    print(f"{len(texts):,} texts, {len(known):,} mentions, {len(weights):,} weights, {len(content):,} bytes")


if __name__ == "__main__":
    main()
