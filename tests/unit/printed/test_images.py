"""What the authors' own images show, next to the data of this study's figures."""

import pandas as pd
import pytest

from cinorms.core.errors import DataError
from cinorms.printed.images import compare_images, images_missed, images_text
from cinorms.published.releases import load_release

from .test_comparison import release_file

LEVELS = pd.DataFrame(
    {"model": ["a", "a", "b"], "flow": ["0", "1", "0"], "shown": ["low", "high", "empty cell"]}
)
BOXES = pd.DataFrame({"model": ["a", "b"], "lower": ["0.1", "0.2"], "median": ["0.5", ""]})
DRAWN = {"f7": LEVELS, "f5": BOXES}
IMAGES = {
    "f7": {"item": "Figure 7", "file": "f7.csv", "compared": ["shown"], "counted": "parts"},
    "f5": {
        "item": "Figure 5",
        "file": "f5.csv",
        "compared": ["lower", "median"],
        "counted": "edges",
        "within": 0.01,
    },
}


LINES = "a,0,low\na,1,high\nb,0,empty cell\n"


def compared(folder, levels=LINES, boxes="a,0.109,0.5\nb,0.21,\n", head="model,flow,shown"):
    (folder / "f7.csv").write_text(f"{head}\n{levels}", encoding="utf-8")
    (folder / "f5.csv").write_text(f"model,lower,median\n{boxes}", encoding="utf-8")
    return compare_images(load_release(release_file(folder, images=IMAGES)), DRAWN)


def test_everything_that_can_be_read_from_an_image_is_compared(tmp_path):
    found = compared(tmp_path)
    assert images_text(found) == "  Figure 5: 3 of 3 edges\n  Figure 7: 3 of 3 parts"
    assert images_missed(found) == ""


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({"levels": "a,0,high\n"}, "Figure 7: a; 0: printed high, computed low"),
        ({"levels": "b,0,low\n"}, "Figure 7: b; 0: printed low, computed empty cell"),
        ({"levels": "c,0,low\n"}, "Figure 7: c; 0: printed low, computed nothing"),
        ({"boxes": "a,0.111,0.5\n"}, "Figure 5: a: lower: printed 0.111, computed 0.1"),
        ({"boxes": "b,0.2,0.5\n"}, "Figure 5: b: median: printed 0.5, computed nothing"),
    ],
)
def test_what_an_image_shows_and_the_figure_does_not_is_missed(tmp_path, changed, missed):
    assert images_missed(compared(tmp_path, **changed)) == f"  {missed}"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"head": "model,flo,shown"},
            r"the data of figure f7: column 'flo' is not there; did you mean 'flow'",
        ),
        ({"levels": "a,0,low\na,0,low\n"}, r"f7\.csv: \['a', '0'\] appears twice"),
        ({"levels": ""}, r"f7\.csv: no cell of shown has a value, so nothing of figure f7 is compared"),
        ({"boxes": "a,,\n"}, r"f5\.csv: no cell of lower and median has a value"),
        (
            {"head": "model,flow,seen"},
            r"f7\.csv: column 'shown' is not there|figure f7: column 'seen' is not there",
        ),
    ],
)
def test_a_file_that_does_not_fit_the_figure_is_an_error(tmp_path, changed, message):
    with pytest.raises(DataError, match=message):
        compared(tmp_path, **changed)
