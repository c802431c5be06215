"""Errors that a user can mend: each names the column or setting, what is wrong with it, and what is allowed."""

import difflib
from collections.abc import Iterable


class CumulinkError(Exception):
    """Base of all errors that this package raises on purpose."""


class ModelError(CumulinkError):
    """A formula, a column or a setting that does not exist or does not fit the others."""


class DataError(CumulinkError):
    """A column with values that the model cannot use."""


def unknown(what: str, name: object, known: Iterable[object]) -> ModelError:
    """Return the error for a name that is not among the ``known`` ones, with the nearest spelling."""
    names = [str(one) for one in known]
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ModelError(f"no {what} {name!r}; choose one of {names}{hint}")
