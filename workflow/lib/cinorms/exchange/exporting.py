"""Write the prompts of an arm in a format of another tool."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from cinorms.core.errors import ConfigError
from cinorms.exchange.registry import Format
from cinorms.exchange.way import Way, ways_of
from cinorms.inference.request import Request

_PAGE = """\
# Prompts of arm {arm} for other tools: {format}

{rows}

Ask them: {command}.

Then take the responses into the study. `id` in each file tells which prompt a response answers; keep it.

```yaml
arms:
  {arm}:
    source: responses
    response_format: {format}
    response_files: received/{{model}}{ending}      # {endings}; * stands for several files
    response_origin: who asked, with which tool, when
```
"""


def export_prompts(
    format_: Format,
    requests: Sequence[Request],
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    arm: str,
    folder: Path,
) -> list[Way]:
    """Write the prompts of ``arm`` for the models of ``requests`` into ``folder``; return the ways of asking."""
    reasoning = [request.model for request in requests if "budget" in request.settings.get("reasoning", {})]
    if reasoning:
        raise ConfigError(
            f"arms.{arm}.reasoning: no format can ask {reasoning[0]!r} to reason; set it to null to "
            "export the prompts, or ask the arm here"
        )
    ways = ways_of(requests, vignettes, variants)
    for way in ways:
        if way.wrapper and format_.messages_only:
            raise ConfigError(
                f"arms.{arm}: {', '.join(way.requests)} receives prompts in the literal wrapper '{way.wrapper}', but "
                f"the format '{format_.name}' sends chat messages; set wrap: chat_template, or use FORMAT=plain"
            )
    folder.mkdir(parents=True, exist_ok=True)
    format_.write(ways, folder)
    rows = [
        f"- `{way.name}`: {len(way):,} prompts for {', '.join(way.requests)} (layout {way.request.layout}"
        f"{f', literal wrapper {way.wrapper}' if way.wrapper else ''}, temperature {way.request.temperature}, at most "
        f"{way.request.max_tokens} tokens)"
        for way in ways
    ]
    page = _PAGE.format(
        arm=arm,
        format=format_.name,
        rows="\n".join(rows),
        command=format_.command,
        ending=format_.endings[0],
        endings=", ".join(format_.endings),
    )
    (folder / "README.md").write_text(page, encoding="utf-8")
    return ways
