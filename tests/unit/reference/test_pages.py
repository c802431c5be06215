"""The page of the stages' tables has every column of their contracts."""

from __future__ import annotations

import pytest

from cinorms.core.tables import STAGES, Contract
from cinorms.reference.pages import tables_page


@pytest.mark.parametrize("contract", STAGES, ids=lambda contract: contract.name)
def test_every_column_of_a_stage_has_a_sentence_on_the_page(contract: Contract) -> None:
    assert list(contract.about) == list(contract.columns)
    part = tables_page().split(f"\n## {contract.name}\n")[1].split("\n## ")[0]
    assert contract.file in part
    for name, sentence in contract.about.items():
        assert sentence.endswith(".")
        assert f"| `{name}` | " in part
        assert sentence in part
    assert ("`<factor>`" in part) == (contract.extra is not None)
