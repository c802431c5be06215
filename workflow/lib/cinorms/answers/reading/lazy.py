"""Patterns that are compiled when they are first used.

To compile all patterns of the reader takes about a second, and most replies need few of them.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands for ``re.compile(pattern, flags)`` until its first use."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # Only for names that are not set yet: the second use of a method comes straight from the instance.
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)
        return found


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return ``re.compile(pattern, flags)``, compiled when it is first used."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
