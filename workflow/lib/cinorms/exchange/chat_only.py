"""Formats that send messages cannot send a prompt in a literal wrapper."""

from __future__ import annotations

from collections.abc import Sequence

from cinorms.core.errors import ConfigError
from cinorms.exchange.way import Way


def insist_on_messages(ways: Sequence[Way], arm: str, format_name: str) -> None:
    """Raise ``ConfigError`` where a model is asked in a literal wrapper, which ``format_name`` has no place for."""
    for way in ways:
        if way.wrapper:
            raise ConfigError(
                f"arms.{arm}: {', '.join(way.specs)} receives prompts in the literal wrapper '{way.wrapper}', but the "
                f"format '{format_name}' sends chat messages; set wrap: chat_template, or use FORMAT=plain or lm_eval"
            )
