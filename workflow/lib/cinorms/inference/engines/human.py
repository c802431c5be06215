"""The engine ``human``: people who have answered; their ratings are read from a survey's file, and nobody is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.inference.engine_kind import Engine, EngineKind, Needs, always, no_cost
from cinorms.inference.spec import Spec


def _make(spec: Spec, tuning: Mapping[str, Any], key: str | None, folder: Path | None) -> Engine:
    raise ConfigError(
        f"model {spec.model!r} stands for people, who cannot be asked here; use it in an arm with source: human"
    )


ENGINE = EngineKind(
    name="human",
    make=_make,
    needs=Needs(memory_mb=always(1000), minutes=always(5)),
    journalled=False,
    people=True,
    cost=no_cost,
    origin=lambda entry: "people",
)
