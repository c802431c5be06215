"""The pages of the reference have every column with its sentence, and every key in words."""

from pathlib import Path

import pytest

from cinorms.analyses.columns import ANY_PLANTED
from cinorms.core.csv_tables import CSV_TABLES
from cinorms.core.schema import in_words, schema_of
from cinorms.core.tables import STAGES
from cinorms.core.yaml_files import load_yaml
from cinorms.entries.kind import kinds
from cinorms.figures.theme import ENDING
from cinorms.inference.settings import EntrySettings
from cinorms.study.settings import StudySettings

from ..modules import module_at

ROOT = Path(__file__).parents[2]
PAGES = module_at(ROOT / "docs/tools/reference.py")
KINDS = [(section, kind) for section in ("analyses", "figures") for kind in kinds(section).values()]


@pytest.mark.parametrize("schema", STAGES, ids=lambda schema: schema.name)
def test_every_column_of_a_stage_has_a_sentence_on_the_page(schema):
    assert list(schema.about) == list(schema.columns)
    part = PAGES.tables_page().split(f"\n### {schema.name}\n")[1].split("\n### ")[0].split("\n## ")[0]
    assert schema.holds.endswith(".")
    assert schema.holds in part
    assert schema.file in part
    for name, sentence in schema.about.items():
        assert sentence.endswith(".")
        assert f"| `{name}` | " in part
        assert sentence in part
    assert ("`<factor>`" in part) == (schema.extra is not None)


@pytest.mark.parametrize("table", CSV_TABLES, ids=lambda table: table.name)
def test_every_column_of_a_csv_file_has_a_sentence_on_the_page(table):
    part = PAGES.tables_page().split(f"\n### {table.name}\n")[1].split("\n### ")[0]
    assert table.file in part
    assert table.holds.endswith(".")
    assert set(table.key) | table.only <= set(table.about)
    for name, sentence in table.about.items():
        assert sentence.endswith(".")
        assert f"| `{name}` | {sentence} |" in part


@pytest.mark.parametrize(
    ("section", "kind"), KINDS, ids=[f"{section}-{kind.name}" for section, kind in KINDS]
)
def test_every_column_of_a_kind_has_a_sentence_on_the_page(section, kind):
    page = PAGES.section_page(section)
    part = page.split(f"\n## {kind.name}\n")[1].split("\n## ")[0]
    assert f"| [{kind.name}](#{kind.name}) | {kind.about} |" in page
    assert kind.about.endswith(".")
    assert kind.key
    assert "ne row per `" in part
    for name, about in kind.columns.items():
        shown = about.replace("|", r"\|")
        assert f"| `{name}` | {shown}" in part


def test_what_every_table_and_figure_ends_with_is_on_the_page():
    assert all(f"`{name}`" in PAGES.section_page("analyses") for name in ANY_PLANTED)
    assert all(f"`{name}`" in PAGES.section_page("figures") for name in ENDING)


def test_every_key_has_its_type_and_default_and_an_arm_one_row_that_names_the_keys_it_shares():
    defaults = load_yaml(ROOT / "config/config.yaml")
    study = {key: rest for key, *rest in PAGES.key_rows(schema_of(StudySettings), defaults)}
    assert study["`gates.<name>.base`"][1] == "required"
    kind, _, about = study["`arms.<name>`"]
    assert kind == "a mapping with the keys of `arm_defaults`"
    assert "Required: `dataset`; " in about
    assert not [key for key in study if key.startswith("`arms.<name>.")]
    models = {key: rest for key, *rest in PAGES.key_rows(schema_of(EntrySettings), None)}
    assert models["`rates.tokens_per_second`"][1] == ""  # no default


NUMBERS, COUNTS = {"type": "number", "maximum": 1}, {"type": "integer", "minimum": 1}


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"type": ["string", "null"]}, "text or `null`"),
        ({"items": {"type": "array", "items": NUMBERS}}, "a list of lists of numbers (at most 1)"),
        ({"items": {"anyOf": [{"type": "number"}, {"enum": ["x"]}]}}, "a list of numbers or `x`"),
        ({"additionalProperties": COUNTS}, "a mapping of names to whole numbers (at least 1)"),
    ],
)
def test_a_type_is_named_with_what_is_in_it(field, words):
    assert in_words({"type": "array" if "items" in field else "object", **field}, "`") == words


@pytest.mark.parametrize(
    ("value", "stated", "words"),
    [
        ({}, 1, "`{}`"),
        ([], 1, "`[]`"),
        (None, 1, "`null`"),
        (None, 0, ""),
        ({"a": 1}, 1, ""),
        ("a", 0, "`a`"),
    ],
)
def test_an_empty_default_is_shown(value, stated, words):
    assert PAGES.default_words(value, stated) == words
