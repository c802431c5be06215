"""What differs between two askings, counted by hand; a contrast at or below it is marked, and nothing unknown is 0."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.between import model_contrasts
from cinorms.analyses.comparing import agreement_pairs, repeatability
from cinorms.entries.entry import Entry, Selected

from .made import ANSWERS, PROMPTS, VARIANTS, VIGNETTES, entry_for, make_answers, norms_of

PAIR = ("main", "small")
PER_ARM = {"main": VIGNETTES}


def again(first: pd.DataFrame, *changes: pd.DataFrame) -> pd.DataFrame:
    """Return a table of repeats: the first asking, with the changed levels and statuses of each further one."""
    parts = []
    for repeat, change in enumerate(changes, start=2):
        frame = first.drop(columns=["p_options"]).assign(**{name: change[name] for name in change})
        same = (frame["level"].fillna(9) == first["level"].fillna(9)) & (frame["status"] == first["status"])
        parts.append(frame.assign(repeat=repeat, same_reply=same.astype("boolean")))
    return pd.concat(parts, ignore_index=True)


def moved(first: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    """Return the levels with those of ``rows`` moved to another one."""
    level = first["level"].copy()
    level.iloc[rows] = level.iloc[rows] % 2 - 2  # -2 or -1: 0, 1, 2 and -1 become others, -2 stays
    level.iloc[rows] = np.where(level.iloc[rows] == first["level"].iloc[rows], 2, level.iloc[rows])
    return pd.DataFrame({"level": level})


def table_of(first: pd.DataFrame, repeats: pd.DataFrame | None, **facts: object) -> pd.Series:
    entry: Entry = entry_for("repeatability", ["small"])
    found = {} if repeats is None else {PAIR: repeats}
    answers, norms = [Selected(*PAIR, first)], [Selected(*PAIR, norms_of(first))]
    table = repeatability(answers, replace(entry, **facts), norms, {"main": PROMPTS}, found)
    assert list(table) == list(entry.declared.columns)
    (row,) = table.to_dict("records")
    return pd.Series(row)


def test_flips_are_counted_over_all_further_askings():
    first = make_answers(2, valid=1.0)
    n = len(first)
    rng = np.random.default_rng(5)
    changes = (moved(first, rng.choice(n, size, replace=False)) for size in (n // 10, n // 5))
    row = table_of(first, again(first, *changes))
    assert row["askings"] == 3
    assert row["prompts"] == row["answers"] == n
    assert row["answers_differ"] == pytest.approx((n // 10 + n // 5) / (2 * n))
    assert row["replies_differ"] == pytest.approx(row["answers_differ"])
    assert row["conf_low"] < row["answers_differ"] < row["conf_high"]
    assert row["statuses_differ"] == 0
    assert (row["what"], row["status"]) == ("engine", "ok")


def test_a_norm_flips_under_the_rules_of_the_study_and_may_be_held_once_only():
    first = make_answers(2, valid=1.0).assign(level=pd.array([1] * len(ANSWERS["small"]), dtype="Int8"))
    other, fewer = first["level"].copy(), first["status"].astype(object)
    other[first["flow"] == 0] = 2  # another norm
    # Two valid answers; t_val is 3.
    fewer[(first["flow"] == 1) & ~first["variant"].isin(VARIANTS[:2])] = "refusal"
    level = other.mask(fewer == "refusal")
    row = table_of(first, again(first, pd.DataFrame({"level": level, "status": fewer})))
    flows = len(VIGNETTES)
    assert (row["flows"], row["norms"]) == (flows, flows - 1)
    assert row["norms_differ"] == pytest.approx(1 / (flows - 1))
    assert row["norms_in_one"] == pytest.approx(1 / flows)
    assert row["statuses_differ"] == pytest.approx((len(VARIANTS) - 2) / len(first))
    assert row["answers"] == len(first) - (len(VARIANTS) - 2)  # what is valid once only is no flip


def test_no_flip_is_0_with_an_interval_that_has_a_width():
    first = make_answers(2)
    row = table_of(first, again(first, pd.DataFrame()))
    assert row["answers_differ"] == row["conf_low"] == 0
    assert 0 < row["conf_high"] < 4 / row["answers"]  # Wilson's: 3.84 / (n + 3.84)


def test_what_was_asked_once_or_never_answered_has_a_status_and_no_number():
    first = make_answers(2)
    row = table_of(first, None)
    assert (row["status"], row["askings"]) == ("not_repeated", 1)
    assert row[["replies_differ", "answers_differ", "norms_differ", "what"]].isna().all()
    silent = make_answers(2, valid=0.0)
    row = table_of(silent, again(silent, pd.DataFrame()))
    assert row["status"] == "no_answers"
    assert row[["answers_differ", "norms_differ"]].isna().all()


def test_replies_that_the_engine_failed_to_give_are_counted_apart():
    first = make_answers(2, valid=1.0)
    status = first["status"].astype(object)
    status.iloc[:7] = "error"
    repeats = again(first, pd.DataFrame({"status": status, "level": first["level"].mask(status == "error")}))
    repeats.loc[repeats["status"] == "error", "same_reply"] = pd.NA
    row = table_of(first, repeats)
    assert row["failed"] == 7
    assert row["replies_differ"] == row["statuses_differ"] == 0
    assert row["answers"] == len(first) - 7


def test_above_temperature_0_the_row_says_that_sampling_is_in_it():
    first = make_answers(2)
    assert table_of(first, again(first, pd.DataFrame()), drawn=(PAIR,))["what"] == "engine_and_sampling"


def contrast(kind: str, share: float | None, of: tuple[str, ...] = ("small", "large")) -> pd.Series:
    """Return the row of a contrast whose sides' engines flip a ``share`` of the answers."""
    models = {"small": make_answers(2, valid=1.0)}
    models["large"] = models["small"].assign(**moved(models["small"], np.arange(0, len(models["small"]), 10)))
    repeats = {}
    for model, first in models.items() if share is not None else ():
        if model in of:
            rows = np.random.default_rng(8).choice(len(first), int(share * len(first)), replace=False)
            repeats["main", model] = again(first, moved(first, rows))
    entry = entry_for(kind, list(models))
    answers = [Selected("main", model, frame) for model, frame in models.items()]
    if kind == "model_contrasts":
        table = model_contrasts(answers, entry, PER_ARM, {"main": PROMPTS}, repeats)
    else:
        norms = [one._replace(frame=norms_of(one.frame)) for one in answers]
        table = agreement_pairs(norms, entry, PER_ARM, repeats)
    (row,) = table.to_dict("records")
    return pd.Series(row)


def test_a_contrast_at_or_below_what_the_engine_alone_changes_is_marked():
    low, high = contrast("model_contrasts", 0.02), contrast("model_contrasts", 0.3)
    assert low["differ"] == high["differ"] == pytest.approx(0.1, abs=0.01)
    assert (low["engine_status"], high["engine_status"]) == ("above", "not_above")
    assert low["engine_differ"] == pytest.approx(0.02, abs=0.005)
    assert high["engine_differ"] == pytest.approx(0.3, abs=0.005)
    assert high["engine_differ"] < high["engine_high"]


def test_norms_are_compared_with_norms():
    row = contrast("agreement_pairs", 0.5)
    assert row["differ"] == pytest.approx(1 - row["agreement"])
    assert row["engine_differ"] > row["differ"]
    assert row["engine_status"] == "not_above"


def test_where_no_side_or_one_side_was_asked_again_the_contrast_says_so():
    none, one = contrast("model_contrasts", None), contrast("model_contrasts", 0.02, of=("large",))
    assert none["engine_status"] == "not_repeated"
    assert none[["engine_differ", "engine_high"]].isna().all()
    assert one["engine_status"] == "one_side_repeated"
    assert contrast("model_contrasts", 0.3, of=("large",))["engine_status"] == "not_above"
