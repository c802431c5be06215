"""Codes on other scales than the papers'."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from cinorms.coding.prompt import NO_OPTION, level_of_code, options_to_choose, prompts_of, read_code
from cinorms.coding.sample import as_levels, load_codes, make_sheet
from cinorms.core.errors import DataError
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER, Scale

NAMES = ("acceptability", "acceptability_2", "acceptability_7", "appropriateness_0_100", "acceptability_de")
SCALES = {name: load_scale(FOLDER / f"{name}.yaml") for name in NAMES}
LINE = SCALES["appropriateness_0_100"]


@pytest.mark.parametrize("scale", [s for s in SCALES.values() if s.line is None], ids=lambda s: s.name)
def test_a_coder_writes_an_option_of_the_scale(scale: Scale) -> None:
    for option, level in zip(scale.options, scale.levels, strict=True):
        assert read_code(f"**{option.upper()}**", scale) == (level, "ok")
    assert read_code("refusal", scale) == (None, "refusal")


def test_a_coder_writes_a_number_of_a_number_line() -> None:
    assert read_code("73", LINE) == (73, "ok")
    assert read_code("Answer: 0.", LINE) == (0, "ok")
    assert read_code("150", LINE) is None
    assert read_code("about 70", LINE) is None
    template = prompts_of(LINE)["template"][0]
    assert template.count("{options}") == template.count("{scenario}") == 1
    assert "Write the number and nothing else" in template
    assert "option" not in template.replace("{options}", "")
    assert all(code in template for code in NO_OPTION)


def test_an_option_that_begins_with_a_number_is_also_coded_by_it() -> None:
    numbered = Scale("n", "N", "n", ("1 not okay", "2 unsure", "3 okay"), (1, 2, 3))
    assert [level_of_code(code, numbered) for code in ("1", "2 unsure", "3", "4", "okay")] == [
        1,
        2,
        3,
        None,
        None,
    ]


def test_a_sheet_of_several_scales_shows_and_takes_the_options_of_each(tmp_path: Path) -> None:
    items = pd.DataFrame(
        {"item": list(NAMES), "scenario": "A tells B.", "reply": "Hm.", "cut": "no", "scale": list(NAMES)}
    )
    sheet = make_sheet(items[["item"]], items, {}, SCALES).set_index("item")["options"]
    assert sheet["acceptability_2"] == "unacceptable, acceptable"
    assert sheet[LINE.name] == ", ".join(options_to_choose(LINE)) != ""
    written = dict(
        zip(NAMES, ["neutral", "Acceptable", "slightly  acceptable", "61", "eher akzeptabel"], strict=True)
    )
    path = tmp_path / "codes.csv"
    path.write_text(
        "item,code\n" + "".join(f"{item},{code}\n" for item, code in written.items()), encoding="utf-8"
    )
    read = as_levels(load_codes(path, SCALES.values()), items, SCALES).set_index("item")["level"]
    assert read.to_dict() == dict(zip(NAMES, [0, 1, 1, 61, 1], strict=True))
    path.write_text("item,code\nacceptability_2,neutral\n", encoding="utf-8")
    with pytest.raises(
        DataError, match="item acceptability_2: code is 'neutral'; allowed: acceptable, ambiguous"
    ):
        as_levels(load_codes(path, SCALES.values()), items, SCALES)
    path.write_text("item,code\nacceptability_2,150\n", encoding="utf-8")
    with pytest.raises(DataError, match="row 2: code is '150'"):
        load_codes(path, SCALES.values())
