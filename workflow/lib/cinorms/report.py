"""The report: one HTML page that needs no network, made from the study's figures and tables."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms import __version__

#: A longer table is shown in part: the page links to the whole.
SHOWN_ROWS = 60


def render(
    settings: Mapping[str, Any],
    planted: bool,
    figures: Sequence[Path],
    tables: Sequence[Path],
    previews: Sequence[Path],
) -> str:
    """Return the page. Everything that comes from data, models or settings is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cinorms", "templates"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("report.html").render(
        study=settings["study"],
        planted=planted,
        version=__version__,
        settings=json.dumps(settings, indent=2, ensure_ascii=False),
        figures=[_figure(path) for path in figures],
        tables=[_table(path) for path in tables],
        previews=[_table(path, rows=3) for path in previews],
    )


def _figure(path: Path) -> dict[str, str]:
    data = base64.b64encode(path.read_bytes()).decode()
    caption = path.with_suffix(".txt").read_text(encoding="utf-8")
    return {"name": path.stem, "data": f"data:image/png;base64,{data}", "caption": caption.strip()}


def _table(path: Path, rows: int = SHOWN_ROWS) -> dict[str, Any]:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    shown = frame.head(rows)
    return {
        "name": path.name,
        "columns": list(shown.columns),
        "rows": shown.to_numpy().tolist(),
        "more": len(frame) - len(shown),
    }
