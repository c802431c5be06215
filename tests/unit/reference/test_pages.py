"""Every column of every table has a sentence, and the pages of the reference have them all."""

from __future__ import annotations

import pytest

from cinorms.analyses.columns import ANY_PLANTED
from cinorms.core.csv_tables import CSV_TABLES, CsvTable
from cinorms.core.errors import DataError
from cinorms.core.tables import STAGES, Contract
from cinorms.entries.kind import Kind
from cinorms.entries.registry import kinds
from cinorms.figures.theme import ENDING
from cinorms.reference.pages import page, tables_page

KINDS = [(section, kind) for section in ("analyses", "figures") for kind in kinds(section).values()]


@pytest.mark.parametrize("contract", STAGES, ids=lambda contract: contract.name)
def test_every_column_of_a_stage_has_a_sentence_on_the_page(contract: Contract) -> None:
    assert list(contract.about) == list(contract.columns)
    part = tables_page().split(f"\n### {contract.name}\n")[1].split("\n### ")[0].split("\n## ")[0]
    assert contract.holds.endswith(".")
    assert contract.holds in part
    assert contract.file in part
    for name, sentence in contract.about.items():
        assert sentence.endswith(".")
        assert f"| `{name}` | " in part
        assert sentence in part
    assert ("`<factor>`" in part) == (contract.extra is not None)


@pytest.mark.parametrize("table", CSV_TABLES, ids=lambda table: table.name)
def test_every_column_of_a_csv_file_has_a_sentence_on_the_page(table: CsvTable) -> None:
    part = tables_page().split(f"\n### {table.name}\n")[1].split("\n### ")[0]
    assert table.file in part
    assert table.holds.endswith(".")
    assert set(table.key) | table.only <= set(table.about)
    for name, sentence in table.about.items():
        assert sentence.endswith(".")
        assert f"| `{name}` | {sentence} |" in part


def test_a_csv_file_with_other_columns_is_refused() -> None:
    table = CSV_TABLES[0]
    fewest = [name for name in table.about if name not in table.only]
    table.check(fewest)
    table.check(list(table.about))
    for wrong in ([*fewest, "new"], fewest[1:], fewest[::-1]):
        with pytest.raises(DataError, match="expected"):
            table.check(wrong)


@pytest.mark.parametrize(
    ("section", "kind"), KINDS, ids=[f"{section}-{kind.name}" for section, kind in KINDS]
)
def test_every_column_of_a_kind_has_a_sentence_on_the_page(section: str, kind: Kind) -> None:
    part = page(section).split(f"\n## {kind.name}\n")[1].split("\n## ")[0]
    assert kind.about.endswith(".")
    assert kind.key
    assert "ne row per `" in part
    for column in kind.columns:
        assert column.about.endswith("."), column.name
        assert f"| `{column.name}` | " in part
        assert column.about.replace("|", r"\|") in part


def test_what_every_table_and_figure_ends_with_is_on_the_page() -> None:
    assert f"`{ANY_PLANTED.name}`" in page("analyses")
    assert all(f"`{column.name}`" in page("figures") for column in ENDING)
