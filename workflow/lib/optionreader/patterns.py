"""What the patterns of this package are made of."""

import re
from typing import Any, cast

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
NEVER = re.compile(r"(?!)")


def any_of(*patterns: str) -> str:
    """Return a pattern for any of ``patterns``."""
    return "(?:" + "|".join(patterns) + ")"


def word_set(*lines: str) -> frozenset[str]:
    """Return the words of ``lines``, which spaces part."""
    return frozenset(" ".join(lines).split())


class _Lazy:
    """Stands for ``re.compile(pattern)`` until first used: to compile all takes a second, and most replies need few."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        # Only for names that are not set yet: the second use of a method comes straight from the instance.
        found = getattr(re.compile(self.pattern), name)
        setattr(self, name, found)
        return found


def lazy(pattern: str) -> re.Pattern[str]:
    """Return ``re.compile(pattern)``, compiled when it is first used."""
    return cast("re.Pattern[str]", _Lazy(pattern))
