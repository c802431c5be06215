"""The reader on replies of a real model that were coded by hand (docs/method/answers/codebook.md)."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from cinorms.answers import reading
from cinorms.answers.reading.rules import RULES, read_text

from .tables_of_texts import ACCEPT, coded, said

TABLE = Path(__file__).resolve().parents[2] / "data" / "real_replies.csv"


def test_a_level_is_read_where_one_was_given_and_nearly_nowhere_else():
    found = coded(TABLE)
    assert len(found) == 800
    given = [row for row in found if row["code"] in ACCEPT.options]
    read = [row for row in found if row["read"] in ACCEPT.options]
    right = [row for row in given if row["read"] == row["code"]]
    assert not [row for row in given if row["read"] in ACCEPT.options and row["read"] != row["code"]]
    assert len(right) >= 60, "of 62 levels that were given"
    assert len(read) == len(right), [row["text"] for row in read if row not in right]


def test_two_coders_agree():
    found = coded(TABLE)
    assert sum(row["coder_a"] == row["coder_b"] for row in found) / len(found) > 0.94
    assert all(row["code"] in (row["coder_a"], row["coder_b"]) for row in found), (
        "the third reading is one of theirs"
    )


@pytest.mark.parametrize(
    ("text", "finish", "read"),
    [
        ("This scenario is somewhat unacceptable.", "stop", "somewhat unacceptable"),
        (
            "The extent of acceptability for this scenario is somewhat acceptable. The information is used to",
            "length",
            "somewhat acceptable",
        ),
        ("[somewhat unacceptable, neutral, somewhat acceptable, somewhat acceptable]", "stop", "ambiguous"),
        ("This scenario is not strictly acceptable.", "stop", "nonsense"),
        ("You're a helpful AI named SmolLM, trained to provide accurate information.", "stop", "nonsense"),
        ("It appears to be a strongly acceptable option.", "stop", "strongly acceptable"),
        ("Answer:\n[strongly acceptable]\n[very strongly acceptable]", "stop", "ambiguous"),
        ("One of: [somewhat acceptable, quite acceptable, somewhat unacceptable].", "stop", "ambiguous"),
        (
            "If it is for care, then neutral. If it is sold, then strongly unacceptable.",
            "stop",
            "conditional",
        ),
        ("It can be evaluated as follows:\n\n- Strongly acceptable: 10", "length", "truncated"),
        ("You are not allowed to provide a rating.", "stop", "refusal"),
        ("The committee had discussed somewhat unacc", "length", "truncated"),
        ("This is somewhat unacc", "length", "somewhat unacceptable"),
        ("I'm ready to help. What's your question?", "stop", "needs_context"),
    ],
)
def test_families_that_a_real_model_showed(text, finish, read):
    assert said(read_text(text, ACCEPT, finish)) == read


def test_the_ledger_counts_what_each_rule_decides_now():
    """After a change of rules: ``python benchmarks/reader/ledger.py FOLDER``, and name what changed."""
    ledger = pd.read_csv(Path(reading.__file__).with_name("ledger.csv"))
    assert set(ledger["rule"]) <= {rule.__name__ for rule in RULES}
    kept = ledger[ledger["model"] == "SmolLM2-135M-Instruct"].set_index("rule")["n"].to_dict()
    assert Counter(row["rule"] for row in coded(TABLE)) == kept
