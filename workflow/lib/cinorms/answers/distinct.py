"""Distinct texts of a table: each is processed once, however often it occurs."""

from __future__ import annotations

import hashlib

import pandas as pd

#: Level of a text without a level, where levels are whole numbers.
NO_LEVEL = -128


def text_hash(text: str) -> str:
    """Return the SHA-256 of ``text`` in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def categories(column: pd.Series) -> pd.Categorical:
    """Return ``column`` as codes into its distinct values."""
    return column.array if isinstance(column.dtype, pd.CategoricalDtype) else pd.Categorical(column)
