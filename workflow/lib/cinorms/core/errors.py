"""Errors that a user can fix: shown as one message, never as a traceback."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

#: What to do with a file of the results that cannot be read, unless its schema states otherwise.
REMEDY = "delete it and rerun"
#: Names in a message; more are counted.
MOST_NAMES = 3
#: A word of a message that nobody would read to its end.
_ENDLESS = re.compile(r"\S{400,}")


class CinormsError(Exception):
    """Base of all errors that state what is given, what is allowed and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(_ENDLESS.sub(lambda word: f"{word[0][:97]}...{word[0][-1]}", message))


class ConfigError(CinormsError):
    """A study, registry or resource file asks for something that is not there or not allowed."""


class DataError(CinormsError):
    """A data file is missing, unreachable, changed or not what it should be."""


class EngineError(CinormsError):
    """An engine cannot go on; earlier replies are in the store."""


class StoreError(CinormsError):
    """The store of a model's replies cannot be read or written."""


@contextmanager
def damage_named(path: str | Path, remedy: str) -> Iterator[None]:
    """Turn whatever a damaged file raises into one message."""
    try:
        yield
    except CinormsError:
        raise
    except Exception as error:  # an unchecked file can make its reader fail in any way
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DataError(f"{path}: cannot be read ({reason}); {remedy}") from None


def listing(given: object, allowed: Iterable[object]) -> str:
    """Return ``allowed: a, b, c``, after ``did you mean 'b'?`` where one is near to ``given``."""
    names = sorted(str(name) for name in allowed)
    near = nearest(given, names).removeprefix("; ")
    return f"{near} allowed: {', '.join(names) if names else 'none'}".lstrip()


def first_few(names: Sequence[str]) -> str:
    """Return ``a, b, c and 2 more`` for five names."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def nearest(given: object, names: Iterable[str]) -> str:
    """Return ``; did you mean 'b'?`` for the name nearest to ``given`` (capitals aside), or nothing."""
    by_spelling = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(str(given).casefold(), by_spelling, n=1)
    return f"; did you mean '{by_spelling[near[0]]}'?" if near else ""
