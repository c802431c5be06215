"""All checks, in the order of the lines that they print, and how they are made and shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cinorms.run.checks import of_machine, of_study
from cinorms.run.checks.case import Case, Check


class Line(NamedTuple):
    """One line for a terminal: ``ok``, ``warning`` or ``error``, the check's name, and a text."""

    severity: str
    name: str
    text: str

    def __str__(self) -> str:
        # A message may have a second line.
        return f"{self.severity:<8} {self.name:<12} " + self.text.replace("\n", "\n" + " " * 22)


def checks() -> tuple[Check, ...]:
    """Return every check; a new one is a function and an entry in one of these tuples."""
    return (*of_study.CHECKS, *of_machine.engine_checks(), *of_machine.CHECKS)


def make_checks(case: Case) -> Iterator[Line]:
    """Yield one line for each check that finds nothing, else one for each finding."""
    for check in checks():
        found = check.look(case)
        lines = [Line(finding.severity, check.name, finding.text) for finding in found or ()]
        nothing = Line("ok", check.name, check.about if found is not None else "nothing to look at")
        yield from lines or [nothing]
