"""The sample that a person codes, and what its agreement with the coder says."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from cinorms.answers.coding.prompt import NO_OPTION, options_to_choose, prompts_of, read_code
from cinorms.answers.coding.sample import (
    SHEET,
    as_levels,
    compare,
    draw_sample,
    load_codes,
    make_sheet,
    write_sheet,
)
from cinorms.core.csv_files import read_csv
from cinorms.core.errors import DataError
from cinorms.core.scales import PAPERS, Scale, papers_scale

from ....scales import shipped

SCALES = {name: papers_scale(name) for name in PAPERS}
NAMES = ("acceptability", "acceptability_2", "acceptability_7", "appropriateness_0_100", "acceptability_de")
OTHERS = {name: shipped(name) for name in NAMES}
LINE = OTHERS["appropriateness_0_100"]


def coded(n_levels: int, n_without: int, model: str = "m") -> pd.DataFrame:
    """Return what a coder read: so many replies with the level 1, and refusals; no rule read any of them."""
    n = n_levels + n_without
    level = pd.array([1] * n_levels + [None] * n_without, dtype="Int8")
    status = ["ok"] * n_levels + ["refusal"] * n_without
    items = [f"{i:020x}" for i in range(n)]
    read = pd.array([None] * n, dtype="Int8")
    return pd.DataFrame({"model": model, "item": items, "read": read, "level": level, "status": status})


def items_of(names: Iterable[str], scales: Iterable[str] | str = "acceptability") -> pd.DataFrame:
    shown = {"scenario": "A tells B.", "reply": "=Hm.", "cut": "no", "scale": scales}
    return pd.DataFrame({"item": list(names), **shown})


def hand(items: pd.Series, levels: list[int | None]) -> pd.DataFrame:
    """Return what a person read: these levels, else a refusal."""
    status = ["ok" if level is not None else "refusal" for level in levels]
    return pd.DataFrame({"item": items.to_numpy(), "level": pd.array(levels, dtype="Int8"), "status": status})


def test_each_model_has_a_sample_with_levels_of_loose_rules_and_models_share_replies():
    frame = coded(90, 90)
    frame.loc[:59, "read"] = 1  # by a loose rule; the coder agrees
    frame.loc[60:79, "read"] = 2  # and contradicts
    frame.loc[90:99, "read"] = -1  # the coder finds no level
    both = pd.concat([frame, frame.assign(model="other")], ignore_index=True)
    sample = draw_sample(both, 50, seed=1)
    drawn = sample.groupby(["model", "stratum"]).size()
    names = ["coder: no level", "coder: other level", "rules: level", "rules: no level", "rules: other level"]
    assert drawn["m"].to_dict() == dict.fromkeys(names, 10)
    assert set(sample.loc[sample["model"] == "m", "item"]) == set(sample.loc[sample["model"] != "m", "item"])
    assert len(make_sheet(sample, items_of(frame["item"]), {}, SCALES)) == 50


@pytest.mark.parametrize(
    ("n_with", "n_without", "expected"),
    [(400, 300, 50), (10, 300, 10), (300, 10, 90), (3, 4, 3), (0, 200, 0)],
)
def test_half_of_the_sample_has_a_level_where_there_are_enough(n_with, n_without, expected):
    sample = draw_sample(coded(n_with, n_without), 100, seed=1)
    assert sample["level"].notna().sum() == expected
    assert len(sample) == min(100, n_with + n_without)
    assert n_with < 400 or 10 < sample["level"][:50].notna().sum() < 40, (
        "its order tells nothing of the codes"
    )


def test_the_sample_depends_on_the_seed_and_most_of_it_stays_when_the_study_grows():
    first = set(draw_sample(coded(200, 200), 100, seed=1)["item"])
    assert first != set(draw_sample(coded(200, 200), 100, seed=2)["item"])
    grown = pd.concat([coded(200, 200), coded(420, 0)[400:]])
    assert len(first & set(draw_sample(grown, 100, seed=1)["item"])) > 90


def test_codes_count_only_where_the_interval_of_agreement_reaches_what_is_needed():
    frame = coded(100, 100)
    sample = draw_sample(frame, 200, seed=1)
    with_level, without = sample[sample["level"].notna()]["item"], sample[sample["level"].isna()]["item"]
    by_hand = pd.concat(
        [hand(with_level, [1] * 97 + [0, 2, None]), hand(without, [None] * 80 + [1] * 20)], ignore_index=True
    )
    found = compare(frame, sample, by_hand, 0.9).set_index("kind")
    for kind, agreed, status in (("level", 97, "counts"), ("refusal", 80, "agreement_too_low")):
        expected = [agreed, agreed / 100, *proportion_confint(agreed, 100, method="wilson")]
        row = found.loc[kind]
        assert row[["agreed", "share", "low", "high"]].tolist() == pytest.approx(expected)
        assert row[["codes", "sample", "coded_by_hand", "status"]].tolist() == [100, 100, 100, status]
    part = compare(frame, sample, by_hand[1:], 0.9).set_index("kind")
    assert part["status"].to_dict() == {"level": "sample_incomplete", "refusal": "agreement_too_low"}
    assert part.loc["level", ["sample", "coded_by_hand"]].tolist() == [100, 99]
    nothing = compare(frame, sample, by_hand[:0], 0.9)
    assert nothing["status"].tolist() == ["sample_incomplete"] * 2
    assert nothing[["share", "low", "high"]].isna().all(axis=None)


def test_the_best_of_several_coders_needs_more():
    frame = coded(100, 0)
    sample = draw_sample(frame, 100, seed=1)
    by_hand = hand(sample["item"], [1] * 96 + [2] * 4)
    assert compare(frame, sample, by_hand, 0.9)["status"].tolist() == ["counts"]
    best_of_five = compare(frame, sample, by_hand, 0.9, tried=5)
    assert best_of_five["status"].tolist() == ["agreement_too_low"]
    expected = proportion_confint(96, 100, 0.01, method="wilson")
    assert best_of_five[["low", "high"]].iloc[0].tolist() == pytest.approx(expected, abs=1e-12)


def test_each_model_is_judged_on_its_own_replies():
    frame = pd.concat([coded(100, 0), coded(100, 0, model="other")], ignore_index=True)
    frame.loc[frame["model"] == "other", "item"] += "b"
    sample = draw_sample(frame, 100, seed=1)
    mistakes = (sample["model"] == "other") & (sample.groupby("model").cumcount() % 20 == 0)
    by_hand = hand(sample["item"], [2 if wrong else 1 for wrong in mistakes])
    found = compare(frame, sample, by_hand, 0.95).set_index("model")["status"]
    assert found.to_dict() == {"m": "counts", "other": "agreement_too_low"}


def test_a_sheet_shows_no_code_of_the_coder_and_keeps_those_of_the_person(tmp_path):
    frame = coded(30, 30)
    items, path = items_of(frame["item"]), tmp_path / "new" / "to_code.csv"
    write_sheet(make_sheet(draw_sample(frame, 20, seed=1), items, {}, SCALES), path)
    sheet = read_csv(path, as_text=True)
    assert list(sheet.columns) == list(SHEET)
    assert (sheet["code"] == "").all()
    assert (sheet["reply"] == "=Hm.").all()
    assert load_codes(path, SCALES.values()) == {}
    sheet.loc[[0, 3], "code"] = ["somewhat acceptable", "refusal"]
    path.write_text(sheet.to_csv(index=False), encoding="utf-8")

    # The sample is drawn anew for another seed: what the person wrote stays, also of items that are not in it.
    again = make_sheet(draw_sample(frame, 20, seed=2), items, {}, SCALES)
    write_sheet(again, path)
    kept = load_codes(path, SCALES.values())
    assert kept == {sheet["item"][0]: "somewhat acceptable", sheet["item"][3]: "refusal"}
    assert set(again["item"]) <= set(read_csv(path, as_text=True)["item"])
    before = path.stat().st_mtime_ns
    write_sheet(again, path)
    assert path.stat().st_mtime_ns == before, "nothing to write"
    read = as_levels(kept, items, SCALES)
    assert sorted(read[["status", "level"]].fillna(0).to_numpy().tolist()) == [["ok", 1], ["refusal", 0]]


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["item", "a"], r"codes\.csv, line 1: no column code"),
        (
            ["item,code", "a,somewhat aceptable"],
            r"row 2: code is 'somewhat aceptable'; .*did you mean 'somewhat acc",
        ),
        (["item,code", "a,150"], "row 2: code is '150'"),
        (["item,code", "a,neutral", "a,refusal"], "row 3: item a has two codes"),
    ],
)
def test_mistakes_in_a_sheet_name_the_row_and_what_is_allowed(tmp_path, lines, message):
    with pytest.raises(DataError, match=message):
        load_codes(written(tmp_path / "codes.csv", *lines), [*SCALES.values(), LINE])


def test_a_sheet_of_several_scales_shows_and_takes_the_options_of_each(tmp_path):
    items = items_of(NAMES, NAMES)
    sheet = make_sheet(items[["item"]], items, {}, OTHERS).set_index("item")["options"]
    assert sheet["acceptability_2"] == "unacceptable, acceptable"
    assert sheet[LINE.name] == ", ".join(options_to_choose(LINE)) != ""
    path = tmp_path / "codes.csv"
    codes = ("neutral", "Acceptable", "slightly  acceptable", "61", "eher akzeptabel")
    lines = [f"{item},{code}" for item, code in zip(NAMES, codes, strict=True)]
    loaded = load_codes(written(path, "item,code", *lines, *lines), OTHERS.values())
    read = as_levels(loaded, items, OTHERS).set_index("item")["level"]
    assert read.to_dict() == dict(zip(NAMES, [0, 1, 1, 61, 1], strict=True))
    # An option of another scale of the study.
    loaded = load_codes(written(path, "item,code", "acceptability_2,neutral"), OTHERS.values())
    message = "item acceptability_2: code is 'neutral'; allowed: acceptable, ambiguous"
    with pytest.raises(DataError, match=message):
        as_levels(loaded, items, OTHERS)


USUAL = OTHERS["acceptability"]
NUMBERED = Scale(name="n", options=("1 not okay", "2 unsure", "3 okay"), levels=(1, 2, 3))


@pytest.mark.parametrize(
    ("said", "code", "scale"),
    [
        ("somewhat acceptable", (1, "ok"), USUAL),
        ("**strongly unacceptable**", (-2, "ok"), USUAL),
        ("Code: neutral", (0, "ok"), USUAL),
        ("The answer is: refusal", (None, "refusal"), USUAL),
        ("needs_context", (None, "needs_context"), USUAL),
        ("Needs context", (None, "needs_context"), USUAL),
        ("<think>neutral?</think>\nnonsense", (None, "nonsense"), USUAL),
        ("<think>somewhat acceptable", None, USUAL),
        ("somewhat acceptable, because it says so", None, USUAL),
        ("neutral or ambiguous", None, USUAL),
        ("", None, USUAL),
        (None, None, USUAL),
        ("73", (73, "ok"), LINE),
        ("Answer: 0.", (0, "ok"), LINE),
        ("150", None, LINE),
        ("9" * 5000, None, LINE),
        ("about 70", None, LINE),
        ("1", (1, "ok"), NUMBERED),
        ("2 unsure", (2, "ok"), NUMBERED),
        ("4", None, NUMBERED),
        ("okay", None, NUMBERED),
        *(
            (f"**{option.upper()}**", (level, "ok"), scale)
            for scale in OTHERS.values()
            if scale is not LINE
            for option, level in zip(scale.options, scale.levels, strict=True)
        ),
    ],
)
def test_a_coders_reply_is_one_code_of_the_scale_or_none(said, code, scale):
    assert read_code(said, scale) == code


def test_a_coder_of_a_number_line_is_asked_for_a_number():
    template = prompts_of(LINE)["template"][0]
    assert template.count("{options}") == template.count("{scenario}") == 1
    assert "Write the number and nothing else" in template
    assert "option" not in template.replace("{options}", "")
    assert all(code in template for code in NO_OPTION)
