"""How well a study reads its own replies: by hand for a few, and that the intervals cover what they should."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from cinorms.coding.own_error import MEASURES, own_error
from cinorms.coding.sample import draw_sample
from cinorms.core.scales import papers_scale

SCALE = papers_scale("acceptability")
NOBODY = pd.DataFrame({"model": [], "kind": [], "status": []})
NONE = 9


def levels(values: object) -> pd.arrays.IntegerArray:
    return pd.array([None if value == NONE else int(value) for value in np.asarray(values)], dtype="Int8")


class Replies:
    """Replies of models: how often each was given, its level as read and in truth (9: none)."""

    def __init__(self) -> None:
        self.readings: list[pd.DataFrame] = []
        self.coded: list[pd.DataFrame] = []
        self.by_hand: list[pd.DataFrame] = []
        self.true: dict[str, dict[str, float]] = {}

    def add(self, model: str, read: object, true: object, n: object, exact: dict[int, int]) -> None:
        read, true, n = np.asarray(read), np.asarray(true), np.asarray(n)
        item = [f"{model}{at}" for at in range(len(read))]
        loose = {"model": model, "item": item, "level": levels(read), "rule": "stated_answer", "n": n}
        plain = {
            "model": model,
            "item": "",
            "level": levels(list(exact)),
            "rule": "exact",
            "n": list(exact.values()),
        }
        self.readings += [pd.DataFrame(loose), pd.DataFrame(plain)]
        nothing = {"level": levels([NONE] * len(read)), "status": None}
        self.coded.append(pd.DataFrame({"model": model, "item": item, "read": levels(read), **nothing}))
        self.by_hand.append(pd.DataFrame({"item": item, "level": levels(true), "status": "ok"}))
        value, weight = np.r_[true, list(exact)], np.r_[n, list(exact.values())]
        ok = value != NONE
        valid = weight[ok].sum()
        shares = (
            valid / weight.sum(),
            weight[ok & (value > 0)].sum() / valid,
            (weight * value)[ok].sum() / valid,
        )
        right = 1 - n[(true != NONE) & (read != true)].sum() / valid
        precision = float((read == true)[read != NONE].mean()) if (read != NONE).any() else 1.0
        self.true[model] = dict(
            zip((*MEASURES, "precision", "recall"), (*shares, precision, right), strict=True)
        )

    def table(
        self, size: int = 100, seed: int = 1, left_out: int = 0, agreement: pd.DataFrame = NOBODY
    ) -> pd.DataFrame:
        coded = pd.concat(self.coded, ignore_index=True)
        sample = draw_sample(coded, size, seed)
        by_hand = pd.concat(self.by_hand, ignore_index=True)
        by_hand = by_hand[by_hand["item"].isin(sample["item"][left_out:])]
        readings = pd.concat(self.readings, ignore_index=True)
        return own_error(readings, coded, sample, by_hand, agreement, SCALE)


def test_with_every_reply_coded_by_hand_the_numbers_are_the_true_ones():
    replies = Replies()
    replies.add("a", [1, 1, 2, NONE, NONE], [1, NONE, -2, -1, NONE], [3, 1, 2, 4, 1], {0: 4, 1: 5})
    replies.add("b", [1, NONE], [1, NONE], [2, 2], {-1: 6})
    table = replies.table().set_index(["model", "against", "measure"])
    for model, other in (("a", ""), ("b", "")):
        for measure in MEASURES:
            row = table.loc[model, other, measure]
            assert row[["estimate", "low", "high"]].tolist() == pytest.approx(
                [replies.true[model][measure]] * 3
            )
    assert table.loc["a", "", "valid_share"]["as_read"] == pytest.approx(15 / 20)
    assert table.loc["a", "", "mean_level"]["as_read"] == pytest.approx(13 / 15)
    assert table.loc["a", "", "precision"]["estimate"] == pytest.approx(1 / 3)
    assert table.loc["a", "", "recall"]["estimate"] == pytest.approx(1 - 6 / 18)
    assert table.loc["b", "", ["precision", "recall"], :]["estimate"].tolist() == [1, 1]
    difference = replies.true["a"]["mean_level"] - replies.true["b"]["mean_level"]
    assert table.loc["a", "b", "mean_level"]["estimate"] == pytest.approx(difference)
    assert table["status"].eq("complete").all()


def test_the_error_of_a_sample_by_hand():
    replies = Replies()
    replies.add("a", [1] * 10, [1] * 10, [1] * 10, {0: 10})
    # Of ten replies four are drawn, and of these one has no level in truth.
    drawn = draw_sample(replies.coded[0], 4, 1)["item"].tolist()
    replies.by_hand[0].loc[replies.by_hand[0]["item"] == drawn[0], "level"] = pd.NA
    table = replies.table(size=4).set_index("measure")
    # Six of ten replies are not drawn; the sum of squares of 1, 0, 0, 0 about their mean is 3/4, and a wrong reply more
    # among five is added, of 1 (an answer without a level) and of 1 (a quarter of the way from -2 to 2).
    share = 0.5 * np.sqrt(6 / 10 * (0.75 / 4**2 + (1 / 5) ** 2) * 4 / 3)
    mean = 10 / 17.5 * np.sqrt(6 / 10 * ((4 / 7) ** 2 * 0.75 / 4**2 + (1 / 5) ** 2) * 4 / 3)
    for measure, value, error in (("valid_share", 17.5 / 20, share), ("mean_level", 7.5 / 17.5, mean)):
        row = table.loc[measure, ["estimate", "low", "high"]].tolist()
        assert row == pytest.approx([value, value - 1.96 * error, value + 1.96 * error])


def test_nothing_is_estimated_until_the_whole_sample_is_coded():
    replies = Replies()
    replies.add("a", [1, 2, NONE], [1, 2, NONE], [1, 1, 1], {0: 4})
    table = replies.table(left_out=1)
    assert table["measure"].tolist() == list(MEASURES)
    assert table["status"].eq("sample_incomplete").all()
    assert table[["estimate", "low", "high"]].isna().all(axis=None)
    assert table["as_read"].notna().all()
    assert table["coded_by_hand"].tolist() == [2] * 3


def test_precision_of_a_sample_has_wilsons_interval():
    replies = Replies()
    replies.add("a", [1] * 300, [1] * 270 + [2] * 30, [1] * 300, {})
    sample = draw_sample(replies.coded[0], 100, 1)["item"]
    right = 100 - int(sample.isin([f"a{at}" for at in range(270, 300)]).sum())
    row = replies.table().set_index("measure").loc["precision"]
    assert row[["low", "high"]].tolist() == pytest.approx(
        list(proportion_confint(right, 100, method="wilson"))
    )


def test_the_codes_of_a_coder_that_count_are_how_the_study_reads():
    replies = Replies()
    replies.add("a", [NONE] * 300, [1] * 300, [1] * 300, {0: 300})
    replies.coded[0]["level"], replies.coded[0]["status"] = levels([1] * 300), "ok"
    counts = pd.DataFrame({"model": ["a"], "kind": ["level"], "status": ["counts"]})
    row = replies.table().set_index("measure").loc["valid_share"]
    assert row[["as_read", "estimate"]].tolist() == pytest.approx([0.5, 1])
    table = replies.table(agreement=counts).set_index("measure")
    assert table.loc["valid_share", ["as_read", "estimate"]].tolist() == pytest.approx([1, 1])
    assert table.loc[["precision", "recall"], "estimate"].tolist() == pytest.approx([1, 1])


@pytest.mark.slow
def test_intervals_cover_where_the_reader_errs_five_times_in_a_hundred_and_differently_per_model():
    rng, replies = np.random.default_rng(1), Replies()
    # Of a's errors more are misses, of b's more are levels that nobody gave.
    for model, errors, misses in (("a", 60, 8), ("b", 100, 2)):
        true = rng.choice([-2, -1, 0, 1, 2, NONE], 1200, p=[0.2, 0.2, 0.1, 0.15, 0.1, 0.25])
        read, at = true.copy(), rng.choice(1200, errors, replace=False)
        other = [[level for level in [-2, -1, 1, 2] + [NONE] * misses if level != true[i]] for i in at]
        read[at] = [rng.choice(levels_of) for levels_of in other]
        replies.add(
            model, read, true, 1 + rng.geometric(0.6, 1200), {-2: 900, -1: 700, 0: 500, 1: 600, 2: 300}
        )
    covered: dict[tuple[str, str, str], list[bool]] = {}
    for seed in range(120):
        for row in replies.table(200, seed).itertuples():
            true_value = replies.true[row.model][row.measure]
            true_value -= replies.true[row.against][row.measure] if row.against else 0
            covered.setdefault((row.model, row.against, row.measure), []).append(
                row.low <= true_value <= row.high
            )
    by_measure = pd.Series({name: np.mean(values) for name, values in covered.items()})
    corrected = by_measure[[name for name in by_measure.index if name[2] in MEASURES]]
    assert 0.93 <= corrected.mean() <= 0.97
    assert by_measure.between(0.89, 1).all()
