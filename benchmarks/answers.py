"""How fast a table of responses is read, and how much reading each distinct text once saves.

    python benchmarks/answers.py [responses [distinct]]

The responses are made up, with the repetition that the papers report: nine in ten are one of few spellings
of an option, the rest are ``distinct`` sentences, each of them rare. Prints seconds of processor time and the ratio to
reading every text by itself, which is measured on a sample.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from tests.scales import ACCEPTABILITY

from cinorms.answers.read import read_responses
from cinorms.answers.reading.rules import read_text

SAMPLE = 50_000
SCALE = ACCEPTABILITY
SENTENCES = (
    "Based on the scenario provided, the answer is: {o}. While it is understandable for {s} to share {i}, it"
    " is important to consider the privacy of the owner and to make sure that the data is protected.",
    "{o}. {s} shares {i} and the owner has been informed.",
    "I would rate this scenario as {o}, because {s} records {i} and it is sent elsewhere.",
    "As an AI language model, I cannot provide a personal opinion on whether {s} should share {i}.",
    "Based on the information provided, it is difficult to determine the acceptability of {s} sharing {i}"
    " without further context.",
    "strongly unacceptable, somewhat unacceptable, neutral, somewhat acceptable, strongly acceptable"
    " ({s}, {i})",
)


def make_responses(n: int, distinct: int = 20_000, seed: int = 1) -> pd.DataFrame:
    """Return ``n`` responses with the papers' repetition; one in 25, or more if need be, is a sentence."""
    rng = np.random.default_rng(seed)
    forms = (str, str.title, str.capitalize, str.upper, "{}.".format)
    spellings = list(dict.fromkeys(form(o) for o in SCALE.options for form in forms))
    spellings += ["s", "strictly acceptable", "smoothly acceptable", ""]
    sentences = [
        SENTENCES[k % len(SENTENCES)].format(
            o=SCALE.options[k % 5], s=f"device {k}", i=f"the owner's record {k}"
        )
        for k in range(distinct)
    ]
    rare = rng.random(n) < max(0.04, 1.02 * distinct / n)
    codes = np.where(rare, len(spellings) + np.cumsum(rare) % distinct, rng.integers(len(spellings), size=n))
    flows = np.arange(n, dtype=np.int32)
    return pd.DataFrame(
        {
            "flow": flows // 33,
            "variant": pd.Categorical.from_codes(flows % 33, pd.Index([f"v{i:02d}" for i in range(33)])),
            "order": pd.Categorical.from_codes(flows % 3, pd.Index(["01234", "20143", "43210"])),
            "text": pd.Categorical.from_codes(codes, pd.Index(spellings + sentences)),
            "finish_reason": pd.Categorical.from_codes(np.zeros(n, dtype=np.int8), pd.Index(["stop"])),
            "n_prompt_tokens": np.int32(90),
            "n_output_tokens": np.int32(4),
            "p_options": None,
        }
    )


def main(n: int = 1_800_000, distinct: int = 20_000) -> None:
    responses = make_responses(n, distinct)
    start = time.process_time()
    answers = read_responses(responses, SCALE)
    once = time.process_time() - start
    sample = responses["text"].sample(min(SAMPLE, n), random_state=1).tolist()
    start = time.process_time()
    for text in sample:
        read_text(text, SCALE)
    each = (time.process_time() - start) * n / len(sample)
    print(f"{n:,} responses, {responses['text'].nunique():,} distinct texts, one core")
    print(f"each distinct text once   {once:8.2f} s")
    print(f"every text by itself      {each:8.2f} s (from a sample of {len(sample):,})")
    print(f"ratio                     {each / once:8.1f}")
    print((answers["status"].value_counts(normalize=True) * 100).round(1).loc[lambda s: s > 0].to_string())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
