"""The shares of all jobs together never exceed a study's cap, whatever was spent before."""

import json

import numpy as np
import pytest

from cinorms.inference.cap import CODER, left_to_spend
from cinorms.inference.questions import KEY_BYTES
from cinorms.inference.store import Store

from ...asking import make_request

EXPECTED = {"big": 9.0, "small": 2.0, "free": 0.0, CODER: 1.0}


@pytest.fixture
def left(tmp_path):
    """Return a function that returns what a job may spend of 24 dollars."""
    file = tmp_path / "expected_usd.json"
    file.write_text(json.dumps(EXPECTED))
    job = {"max_cost_usd": 24.0, "expected_usd": str(file), "store": str(tmp_path), "study": "s"}
    return lambda model, shard="1-of-1", **more: left_to_spend(
        {**job, "model": model, "shard": shard, **more}
    )


def spend(folder, model, usd, shard="1-of-1", study="s"):
    store = Store(folder, make_request(model=model), study)
    store.open({"model": model, "shard": shard})
    store.add(b"\1" * KEY_BYTES, {"text": "x", "usd": usd})
    store.close({})


def test_shares_follow_the_plan_and_what_was_spent_of_them(left, tmp_path):
    assert [left(model) for model in ("big", "small", "free")] == [18.0, 4.0, 0.0]
    assert [left("big", f"{number}-of-2") for number in (1, 2)] == [9.0, 9.0]
    spend(tmp_path, "big", 5.0)
    spend(tmp_path, "big", 100.0, study="another")
    assert (left("big"), left("small")) == (13.0, 4.0)
    spend(tmp_path, "big", 1.0, "2-of-2")
    assert [left("big", f"{number}-of-2") for number in (1, 2)] == [6.5, 5.5]
    assert left("big", max_cost_usd=None) is None
    spend(tmp_path, "small", 2.0, CODER)
    assert left("small", CODER) == 24.0 - 8.0, "a coder is asked last: it may spend what is left"
    assert left("small") == 4.0, "the coder has spent its own share"
    spend(tmp_path, "small", 2.0, CODER)
    assert left("small") == pytest.approx(4.0 * 14 / (12 + 4)), "and now more than that"


def test_what_was_charged_without_a_reply_counts_and_survives_a_job_that_got_none(left, tmp_path):
    store = Store(tmp_path, make_request(model="big"), "s")
    store.open({"model": "big", "shard": "1-of-1"})
    for usd in (1.0, 2.0):
        store.charge(usd)
    assert left("big") == 15.0, "at once"
    store.close({"status": "failed"})
    assert (left("big"), left("small"), store.usd()) == (15.0, 4.0, 3.0)
    spend(tmp_path, "big", 4.0)
    assert (left("big"), store.usd()) == (11.0, 7.0)
    assert store.answered(np.array([b"\1" * KEY_BYTES, b"-" * KEY_BYTES], f"V{KEY_BYTES}")).tolist() == [
        True,
        False,
    ]


def test_a_share_that_was_exceeded_is_taken_from_the_others(left, tmp_path):
    spend(tmp_path, "small", 13.0)
    assert (left("small"), left("big")) == (0.0, pytest.approx(18 * 11 / 20))
    spend(tmp_path, "free", 12.0)
    assert [left(model) for model in ("big", "free", CODER)] == [0.0, 0.0, 0.0]


def test_models_without_an_expected_price_have_no_share(left, tmp_path):
    (tmp_path / "free.json").write_text(json.dumps({"free": 0.0}))
    assert left("free", expected_usd=str(tmp_path / "free.json")) == 0.0
