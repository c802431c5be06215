"""The page of promises: the tests that it names exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists():
    named = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`", PAGE))
    assert len(named) > 20
    assert [file for file, _ in sorted(named) if not (ROOT / file).exists()] == []
    for file, name in named:
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
