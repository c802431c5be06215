"""Expected values: which stated norm counts for a flow, ranges, and what a wrong file is told."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import DataError
from cinorms.vignettes.expectations import from_vignettes, read_expected

LEVELS = {"sender": ["lock", "camera"], "recipient": ["doctor", "police", "maker"]}
NAMES = list(LEVELS)


def flows_of(levels=LEVELS):
    frame = pd.MultiIndex.from_product(levels.values(), names=list(levels)).to_frame(index=False)
    frame = frame.astype("category")
    frame.insert(0, "flow", np.arange(10, 10 + len(frame)))
    return frame.assign(vignette="", expected=np.nan)


def read(tmp_path, text, expected_range=None, vignettes=None):
    path = tmp_path / "expected.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return read_expected(path, flows_of() if vignettes is None else vignettes, NAMES, (-2, 2), expected_range)


def test_the_row_with_most_levels_counts(tmp_path):
    stated = ',,-1,by default\n,doctor,1,\ncamera,doctor,-2,"a law, article 9"\n'
    found = read(tmp_path, f"sender,recipient,expected,note\n{stated}")
    assert found["flow"].tolist() == [10, 11, 12, 13, 14, 15]
    assert found["expected"].tolist() == [1, -1, -1, -2, -1, -1]
    default, law = "line 2: by default", "line 4: a law, article 9"
    assert found["expected_source"].tolist() == ["line 3", default, default, law, default, default]


def test_another_range_is_moved_to_the_scale(tmp_path):
    found = read(tmp_path, "recipient,expected\ndoctor,100\npolice,-50\nmaker,0\n", (-100, 100))
    assert found["expected"].tolist() == [2, -1, 0] * 2
    found = read(tmp_path, "recipient,expected\ndoctor,5\npolice,1\n", (1, 5))
    assert found["expected"].fillna(9).tolist() == [2, -2, 9] * 2
    assert found["expected_source"].isna().tolist() == [False, False, True] * 2
    # A dataset's own column.
    flows = flows_of().assign(expected=[-100, 100, np.nan, 25, 0, -17.43])
    found = from_vignettes(flows, (-2, 2), (-100, 100))
    expected = [-2, 2, np.nan, 0.5, 0, -0.3486]
    assert found["expected"].astype(float).tolist() == pytest.approx(expected, nan_ok=True)
    assert found["expected_source"].fillna("").tolist() == ["dataset", "dataset", "", *["dataset"] * 3]


def test_spreadsheets_are_read_with_their_mark_and_blank_rows(tmp_path):
    found = read(tmp_path, "\ufeffrecipient,expected\r\n\r\n,\r\n doctor , 2 \r\n")
    assert found["expected"].dropna().tolist() == [2, 2]
    assert found["expected_source"][0] == "line 4"


def test_two_rows_may_say_the_same_but_not_differ(tmp_path):
    header = "sender,recipient,expected\n"
    assert read(tmp_path, f"{header}lock,,1\n,doctor,1\n")["expected"].dropna().tolist() == [1, 1, 1, 1]
    with pytest.raises(DataError, match=r"lines 2 and 3 .* state 1 and 2 for the flow .*'lock'.*'doctor'"):
        read(tmp_path, f"{header}lock,,1\n,doctor,2\n")
    with pytest.raises(DataError, match="lines 2 and 4"):
        read(tmp_path, f"{header}lock,,1\ncamera,,1\nlock,,0\n")
    found = read(tmp_path, f"{header}lock,,1\n,doctor,2\nlock,doctor,-1\n")
    assert found["expected"].tolist()[:4] == [-1, 1, 1, 2]  # a more specific row settles it


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("recipent,expected\ndoctor,1\n", "line 1: 'recipent' is not a column.*did you mean 'recipient'"),
        ("recipient,expected\nDocter,1\n", "line 2: recipient: 'Docter' is not a level.*'doctor'"),
        ("recipient\ndoctor\n", "line 1: column 'expected' is missing"),
        ("recipient,recipient,expected\ndoctor,,1\n", "line 1: column 'recipient' appears twice"),
        ("recipient,expected\ndoctor,nan\n", "line 2: expected is 'nan'"),
        ("recipient,expected\ndoctor,much\n", "line 2: expected is 'much'"),
        # Lines are counted as in an editor.
        ('recipient,expected,note\ndoctor,1,"two\nlines"\npolice,9,\n', "line 4: .* from -2 to 2"),
        ("recipient,expected\ndoctor,2.1\n", "line 2: expected is '2.1'.*expected_range"),
        ("recipient,expected\ndoctor,1,2\n", "line 2: has 3 cells, expected 2"),
        ("recipient,expected\n", "has no rows"),
        ('recipient,expected\n"doctor,1\n', "cannot be read as a CSV file"),
    ],
)
def test_a_wrong_file_names_its_line(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, text)


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(DataError, match=r"absent.csv"):
        read_expected(tmp_path / "absent.csv", flows_of(), NAMES, (-2, 2))
    (tmp_path / "binary.csv").write_bytes(b"recipient,expected\n\xff,1\n")
    with pytest.raises(DataError, match="UTF-8"):
        read_expected(tmp_path / "binary.csv", flows_of(), NAMES, (-2, 2))


def test_levels_that_no_flow_combines_are_refused(tmp_path):
    linked = flows_of().iloc[[0, 4]]
    with pytest.raises(DataError, match="line 3: no flow of the dataset has these levels together"):
        read(tmp_path, "sender,recipient,expected\nlock,doctor,1\nlock,police,1\n", vignettes=linked)
