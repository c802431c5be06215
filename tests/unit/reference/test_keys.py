"""Keys of a schema in words: what a value can be, its default, and the keys of named settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cinorms.core.schema import schema_of
from cinorms.core.validation import load_yaml
from cinorms.reference.keys import default_words, key_rows, type_words
from cinorms.study.settings import StudySettings

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def rows() -> dict[str, list[str]]:
    """Return the rows of a study's keys, by key."""
    defaults = load_yaml(ROOT / "config/config.yaml")
    return {key.strip("`"): rest for key, *rest in key_rows(schema_of(StudySettings), defaults)}


def test_the_keys_of_a_datasets_options_have_rows(rows: dict[str, list[str]]) -> None:
    assert rows["datasets.<name>.null_principle"][:2] == ["true or false", "`false`"]


def test_an_arm_has_one_row_that_names_the_keys_it_shares(rows: dict[str, list[str]]) -> None:
    kind, _, about = rows["arms.<name>"]
    assert kind == "a mapping with the keys of `arm_defaults`"
    assert "Required: `dataset`; " in about
    assert not [key for key in rows if key.startswith("arms.<name>.")]


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"type": ["string", "null"]}, "text or `null`"),
        ({"type": "array", "items": {"type": "string"}}, "a list of text"),
        ({"type": "array"}, "a list"),
        (
            {"type": "array", "items": {"type": "array", "items": {"type": "number", "maximum": 1}}},
            "a list of lists of numbers (at most 1)",
        ),
        (
            {"type": "array", "items": {"anyOf": [{"type": "number"}, {"enum": ["plurality"]}]}},
            "a list of numbers or `plurality`",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
            "a mapping of names to whole numbers (at least 1)",
        ),
        ({"type": "object", "additionalProperties": False}, "a mapping of keys to values"),
    ],
)
def test_a_type_is_named_with_what_is_in_it(field: dict[str, Any], words: str) -> None:
    assert type_words(field) == words


@pytest.mark.parametrize(
    ("value", "stated", "words"),
    [
        ({}, True, "`{}`"),
        ([], True, "`[]`"),
        (None, True, "`null`"),
        (None, False, ""),
        ({"a": 1}, True, ""),
        ("all", False, "`all`"),
    ],
)
def test_an_empty_default_is_shown(value: Any, stated: bool, words: str) -> None:
    assert default_words(value, stated) == words
