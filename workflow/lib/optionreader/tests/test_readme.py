"""README.md: its example runs, its table of rules is that of the code, and it stays short."""

import doctest
from pathlib import Path

import optionreader
from optionreader import RULES, SHIPPED, STATUSES

FILE = Path(__file__).parents[1] / "README.md"
README = FILE.read_text(encoding="utf-8")


def test_the_example_gives_what_it_shows():
    assert doctest.testfile(str(FILE), module_relative=False) == doctest.TestResults(0, 7)


def test_the_table_of_rules_is_that_of_the_code():
    rows = [f"| {name} | {about} |" for name, about in RULES.items()]
    table = "\n".join(["| rule | what it does |", "|---|---|", *rows])
    assert table in README, table


def test_statuses_scales_and_keys_are_named():
    assert all(f"\n| {status} | " in README for status in STATUSES)
    stated = README.partition("## Scales")[2]
    names = (*SHIPPED, *optionreader.scale.WORD_KINDS)
    assert all(f"`{name}`" in stated or f"`_{name.rpartition('_')[2]}`" in stated for name in names)
