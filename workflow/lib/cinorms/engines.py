"""Engines: how a model is reached. Each is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from cinorms.errors import ConfigError


def ask(
    spec: Mapping[str, Any], vignettes: pd.DataFrame, variants: pd.DataFrame, grid: pd.DataFrame
) -> pd.DataFrame:
    """Return text, finish_reason and token counts for every row of ``grid`` from the engine of ``spec``."""
    if spec["engine"] == "planted":
        from cinorms.planted import answer

        return answer(spec, vignettes, variants, grid)
    raise ConfigError(
        f"model {spec['model']!r}: this version cannot ask the engine '{spec['engine']}' yet; "
        "--config engine=planted lets planted respondents answer in its place"
    )
