"""Scales: what their files state, what follows from it, and what is refused."""

import hashlib
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.core.scale_files import load_scale, scale_near
from cinorms.core.scales import FOLDER, PAPERS, Says, Scale, measures_of, papers_scale, spoken_of
from cinorms.prompts.orders import options_shown, orders_of

from ...scales import ACCEPTABILITY, shipped

SHIPPED = sorted(path.stem for path in FOLDER.glob("*.yaml"))
#: Existing results name these two files: only how pages put it (`says`) may change.
FROZEN = {
    "acceptability": "5f0a23b737a74951ffcb47c2613ac846de407f1339fc53335f68211a6afeddcc",
    "agreement": "4e94fd0cba9d7ccfed2b4e3558d6180ebcb3894f6d66462898766cc57c2c19a1",
}


def write(folder: Path, **stated: Any) -> Path:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump({"title": "Mine", "measure": "acceptability", **stated}), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_scale_survives_the_way_into_a_job(name):
    scale = shipped(name)
    assert Scale.from_plain(json.loads(json.dumps(scale.plain))) == scale
    assert (scale.plain == name) == (name in PAPERS)
    assert len(scale.binned.options) <= 11


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_scales_never_change(name):
    file = FOLDER / f"{name}.yaml"
    document = json.loads(file.read_text(encoding="utf-8"))
    assert set(document.pop("says")) == {field.name for field in fields(Says)}
    assert hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest() == FROZEN[name]
    assert load_scale(file) == papers_scale(name)
    assert papers_scale(name).levels == (-2, -1, 0, 1, 2)
    assert papers_scale(name).midpoint == 0


def test_pages_put_it_in_the_words_of_the_scale(tmp_path):
    line = shipped("appropriateness_0_100")
    assert (line.spoken.more, line.spoken.accepted) == ("more appropriate", "approved of")
    assert line.measured == "appropriateness"
    assert line.ends == line.binned.ends == ("not at all appropriate", "completely appropriate")
    plain = load_scale(write(tmp_path, measure="trust_in_it", options=["no", "yes"]))
    assert plain.spoken == Says("higher trust in it", "lower trust in it")
    assert (plain.spoken.rejected, plain.ends) == ("rated low", ("no", "yes"))
    both = [papers_scale("acceptability"), papers_scale("agreement")]
    assert spoken_of(both[:1] * 2).more == "more acceptable"
    assert spoken_of(both).more == "a higher answer"
    assert measures_of([*both, *both]) == "acceptability and agreement"


def test_a_scale_of_the_same_name_with_other_options_is_another_scale(tmp_path):
    path = tmp_path / "acceptability.yaml"
    path.write_text(json.dumps({"title": "x", "measure": "acceptability", "options": ["bad", "good"]}))
    scale = load_scale(path)
    assert isinstance(scale.plain, dict)
    assert Scale.from_plain(scale.plain) == scale != papers_scale("acceptability")


def test_a_number_line_keeps_numbers_and_holds_norms_in_bins():
    line = shipped("appropriateness_0_100")
    assert line.binned.options == ("0 to 20", "21 to 40", "41 to 60", "61 to 80", "81 to 100")
    assert line.places([0, 20, 21, 60, 61, 100]).tolist() == [0, 0, 1, 2, 3, 4]
    assert line.in_bins(pd.Series([0, None, 100], dtype="Int8")).tolist() == [10, pd.NA, 90]
    assert options_shown(line) == ["[0 = not at all appropriate, ..., 100 = completely appropriate]"]
    assert orders_of(line.n_shown).names == ("0",)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"options": ["only"]}, "options: ['only'] is not allowed; allowed: a list of text"),
        ({"options": ["a", "b"], "optionz": []}, "optionz: there is no such key here"),
        # What optionreader refuses.
        ({"options": ["a", "b"], "levels": [2, 1]}, "levels: [2, 1] do not rise"),
    ],
)
def test_a_wrong_scale_gives_one_message(tmp_path, stated, words):
    with pytest.raises(ConfigError, match=re.escape(f"mine.yaml: {words}")):
        load_scale(write(tmp_path, **stated))


def test_a_scale_is_looked_up_next_to_the_file_that_names_it(tmp_path):
    (tmp_path / "scales").mkdir()
    write(tmp_path / "scales", options=["bad", "good"])
    assert scale_near(tmp_path / "prompts" / "frozen" / "x.yaml", "mine").options == ("bad", "good")
    assert scale_near(tmp_path / "prompts" / "x.yaml", "agreement").name == "agreement"


def test_places_are_positions_and_labels_are_words():
    assert ACCEPTABILITY.places(np.array([-2, 2, 0])).tolist() == [0, 4, 2]
    assert ACCEPTABILITY.label(-1) == "somewhat unacceptable"
