"""Overrides: a person's word on a text goes before every rule."""

import pandas as pd
import pytest

from cinorms.answers.overrides import load_overrides, match_overrides, settled
from cinorms.answers.read import read_responses, text_hash
from cinorms.core.errors import DataError

from .tables_of_texts import ACCEPT, TEXTS, responses

LEVELS = ACCEPT.levels


def write_csv(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_overrides_settle_texts_and_say_how_many(tmp_path):
    path = write_csv(
        tmp_path / "overrides.csv",
        "text,sha256,level,status,note",
        "not neutral,,1,,asked the authors",
        f",{text_hash('s')},,refusal,",
        "never said,,0,,",
    )
    overrides = load_overrides(path, LEVELS)
    table = responses([*TEXTS, "s", "s"], ["stop"] * len(TEXTS) + ["stop", "error"])
    answers = read_responses(table, ACCEPT, overrides=overrides)
    decided = answers[answers["rule"] == "override"]
    assert decided["level"].tolist() == [pd.NA, 1, pd.NA]
    assert decided["status"].tolist() == ["refusal", "ok", "refusal"]
    assert answers["status"].tolist()[-1] == "error"
    assert match_overrides(table, overrides)["n_responses"].tolist() == [1, 2, 0]


def test_an_override_that_settles_nothing_in_the_whole_study_is_an_error(tmp_path):
    path = write_csv(
        tmp_path / "mine.csv", "text,level", "not neutral,1", "s,0", "never said,0", "nor this,1"
    )
    overrides = load_overrides(path, LEVELS)
    one, two = responses(["not neutral"], ["stop"]), responses(["s", "s"], ["stop", "stop"])
    assert settled([one, two], overrides[:2], path)["n_responses"].tolist() == [1, 2]
    with pytest.raises(
        DataError, match=r"mine.csv, line 4: no response .* the text 'never said' \(and 1 further"
    ):
        settled([one, two], overrides, path)
    # A reply that failed is settled by nobody.
    with pytest.raises(DataError, match="line 2: no response"):
        settled([responses(["not neutral"], ["error"]), two], overrides[:2], path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["text,levle", "a,1"], r"line 1: columns \['text', 'levle'\]; allowed: text, sha256, level"),
        (["text,note", "a,b"], r"line 1: columns"),
        (["text,level", "a,3"], r"line 2: level is '3'; allowed: -2, -1, 0, 1, 2"),
        (["text,level", "ok,1", "a,1.5"], r"line 3: level is '1.5'"),
        (["text,status", "a,fine"], r"line 2: status is 'fine'; allowed: refusal, needs_context"),
        (["text,status", "a,ok"], r"for a valid answer give its level"),
        (["text,level,status", "a,1,refusal"], r"line 2: level '1' and status 'refusal'; give exactly one"),
        (["text,level,status", "a,,"], r"line 2: neither level nor status"),
        (["text,sha256,level", ",,1"], r"line 2: neither text nor sha256"),
        (["sha256,level", "abc,1"], r"line 2: sha256 is 'abc'; copy the 64"),
        (["text,level", "a,1", "a,1"], r"line 3: the same text as line 2"),
        (["text,level", "a,1,2"], r"line 2: more cells than the header"),
    ],
)
def test_a_wrong_override_is_named_by_file_and_line(tmp_path, lines, message):
    path = write_csv(tmp_path / "overrides.csv", *lines)
    with pytest.raises(DataError, match=message) as caught:
        load_overrides(path, LEVELS)
    assert str(path) in str(caught.value)


def test_unreadable_overrides_are_one_message(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        load_overrides(tmp_path / "none.csv", LEVELS)
    (tmp_path / "latin.csv").write_bytes("text,level\ncaf\xe9,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        load_overrides(tmp_path / "latin.csv", LEVELS)


def test_an_empty_overrides_file_settles_nothing(tmp_path):
    overrides = load_overrides(write_csv(tmp_path / "o.csv", "text,level"), LEVELS)
    answers = read_responses(responses(TEXTS), ACCEPT, overrides=overrides)
    assert "override" not in set(answers["rule"])


def test_levels_are_those_of_the_studys_scales(tmp_path):
    path = write_csv(tmp_path / "o.csv", "text,level", "hm,3", "s,1")
    both = load_overrides(path, range(-3, 4))
    assert both["level"].tolist() == [3, 1]
    # A level that a scale lacks settles nothing there.
    answers = read_responses(responses(["hm", "s"]), ACCEPT, overrides=both)
    assert answers["level"].tolist() == [pd.NA, 1]
    with pytest.raises(DataError, match=r"line 2: level is '3'; allowed: -2, -1, 0, 1, 2"):
        load_overrides(path, LEVELS)
    with pytest.raises(DataError, match="level is '3'; allowed: 10 to 100"):
        load_overrides(path, range(10, 101))
