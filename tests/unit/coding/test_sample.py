"""The sample that a person codes, and what its agreement with the coder says."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from cinorms.coding.sample import SHEET, as_levels, compare, draw_sample, load_codes, make_sheet, write_sheet
from cinorms.core.csv_files import read_csv
from cinorms.core.errors import DataError
from cinorms.core.scales import PAPERS, papers_scale

SCALES = {name: papers_scale(name) for name in PAPERS}


def coded(n_levels: int, n_without: int, n_unreadable: int = 0) -> pd.DataFrame:
    n = n_levels + n_without + n_unreadable
    level = pd.array([1] * n_levels + [None] * (n_without + n_unreadable), dtype="Int8")
    status = ["ok"] * n_levels + ["refusal"] * n_without + [None] * n_unreadable
    return pd.DataFrame({"item": [f"{i:020x}" for i in range(n)], "level": level, "status": status})


def items_of(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "item": frame["item"],
            "scenario": "A tells B.",
            "reply": "=Hm.",
            "cut": "no",
            "scale": "acceptability",
        }
    )


def n_levels(frame: pd.DataFrame) -> int:
    return int(frame["level"].notna().sum())


def test_half_of_the_sample_has_a_level_and_what_is_no_code_is_not_in_it() -> None:
    frame = coded(400, 300, 50)
    sample = draw_sample(frame, 100, seed=1)
    assert len(sample) == 100
    assert n_levels(sample) == 50
    assert sample["status"].notna().all()
    # Its order tells nothing of the codes.
    assert 10 < n_levels(sample[:50]) < 40


@pytest.mark.parametrize(
    ("n_with", "n_without", "expected"), [(10, 300, 10), (300, 10, 90), (3, 4, 3), (0, 200, 0)]
)
def test_where_one_half_is_short_the_other_is_longer(n_with: int, n_without: int, expected: int) -> None:
    sample = draw_sample(coded(n_with, n_without), 100, seed=1)
    assert n_levels(sample) == expected
    assert len(sample) == min(100, n_with + n_without)


def test_the_sample_depends_on_the_seed_and_most_of_it_stays_when_the_study_grows() -> None:
    first = set(draw_sample(coded(200, 200), 100, seed=1)["item"])
    assert first != set(draw_sample(coded(200, 200), 100, seed=2)["item"])
    grown = pd.concat([coded(200, 200), coded(420, 0)[400:]])
    assert len(first & set(draw_sample(grown, 100, seed=1)["item"])) > 90


def hand(items: pd.Series, levels: list[int | None]) -> pd.DataFrame:
    status = ["ok" if level is not None else "ambiguous" for level in levels]
    return pd.DataFrame({"item": items.to_numpy(), "level": pd.array(levels, dtype="Int8"), "status": status})


def test_codes_count_only_where_the_interval_of_agreement_reaches_what_is_needed() -> None:
    frame = coded(100, 100)
    sample = draw_sample(frame, 200, seed=1)
    with_level, without = sample[sample["level"].notna()]["item"], sample[sample["level"].isna()]["item"]
    by_hand = pd.concat(
        [hand(with_level, [1] * 97 + [0, 2, None]), hand(without, [None] * 80 + [1] * 20)], ignore_index=True
    )
    found = compare(frame, sample, by_hand, 0.9).set_index("kind")
    low, high = proportion_confint(97, 100, method="wilson")
    assert found.loc["level", ["agreed", "share", "low", "high"]].tolist() == [97, 0.97, low, high]
    assert found.loc["level", "status"] == "counts"
    assert found.loc["no level", "agreed"] == 80
    assert found.loc["no level", "status"] == "agreement_too_low"
    # Another reason for no level is no disagreement; a code missing from the sheet is.
    part = compare(frame, sample, by_hand[1:], 0.9).set_index("kind")
    assert part["status"].tolist() == ["sample_incomplete", "agreement_too_low"]
    nothing = compare(frame, sample, by_hand[:0], 0.9)
    assert nothing["status"].tolist() == ["sample_incomplete"] * 2
    assert nothing[["share", "low", "high"]].isna().all(axis=None)


def test_too_few_items_never_reach_what_is_needed() -> None:
    frame = coded(8, 0)
    sample = draw_sample(frame, 100, seed=1)
    found = compare(frame, sample, hand(sample["item"], [1] * 8), 0.9).set_index("kind")
    assert found["status"].tolist() == ["agreement_too_low", "no_codes"]


def test_a_sheet_shows_no_code_of_the_coder_and_keeps_those_of_the_person(tmp_path: Path) -> None:
    frame = coded(30, 30)
    sample = draw_sample(frame, 20, seed=1)
    path = tmp_path / "new" / "to_code.csv"
    write_sheet(make_sheet(sample, items_of(frame), {}, SCALES), path)
    sheet = read_csv(path, as_text=True)
    assert list(sheet.columns) == list(SHEET)
    assert (sheet["code"] == "").all()
    assert (sheet["reply"] == "=Hm.").all()
    assert len(load_codes(path, SCALES.values())) == 0
    sheet.loc[[0, 3], "code"] = ["somewhat acceptable", "refusal"]
    path.write_text(sheet.to_csv(index=False), encoding="utf-8")

    # The sample is drawn anew for another seed: what the person wrote stays, also of items that are not in it.
    again = draw_sample(frame, 20, seed=2)
    write_sheet(make_sheet(again, items_of(frame), {}, SCALES), path)
    kept = load_codes(path, SCALES.values())
    assert kept == {sheet["item"][0]: "somewhat acceptable", sheet["item"][3]: "refusal"}
    assert set(again["item"]) <= set(read_csv(path, as_text=True)["item"])
    before = path.stat().st_mtime_ns
    write_sheet(make_sheet(again, items_of(frame), {}, SCALES), path)
    assert path.stat().st_mtime_ns == before, "nothing to write"
    read = as_levels(kept, items_of(frame), SCALES).set_index("item")
    assert read["level"].dropna().tolist() == [1]
    assert set(read["status"]) == {"ok", "refusal"}


def test_mistakes_in_a_sheet_name_the_row_and_what_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("item,code\na,somewhat aceptable\n")
    with pytest.raises(
        DataError, match=r"codes\.csv, row 2: code is 'somewhat aceptable'; .*did you mean 'somewhat acc"
    ):
        load_codes(path, SCALES.values())
    path.write_text("item,code\na,neutral\na,refusal\n")
    with pytest.raises(DataError, match="row 3: item a has two codes"):
        load_codes(path, SCALES.values())
    path.write_text("item\na\n")
    with pytest.raises(DataError, match="no column code"):
        load_codes(path, SCALES.values())
    path.write_text("item,code\na,strongly agree\n")
    with pytest.raises(DataError, match="item a: code is 'strongly agree'; allowed: "):
        as_levels(load_codes(path, SCALES.values()), items_of(pd.DataFrame({"item": ["a"]})), SCALES)
