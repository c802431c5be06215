"""Turn logs of Inspect into the format ``plain``: ``python -m cinorms.exchange.inspect_log --out FILE LOG...``.

This runs in Inspect's own environment, which has none of this project's packages: it imports nothing of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

#: Inspect's reasons to stop, in the words of the table of responses; others stay as they are.
REASONS = {"max_tokens": "length", "model_length": "length", "content_filter": "error"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the samples of the logs as lines; return 1 with a message where a log cannot be read."""
    parser = argparse.ArgumentParser(prog="cinorms.exchange.inspect_log")
    parser.add_argument("--out", required=True)
    parser.add_argument("logs", nargs="+")
    given = parser.parse_args(arguments)
    part = Path(f"{given.out}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.open("w", encoding="utf-8") as lines:
        for log in given.logs:
            try:
                for line in lines_of(log):
                    lines.write(json.dumps(line) + "\n")
            except ImportError as error:
                return _refuse(
                    f"{log}: needs the package inspect_ai ({error}); install it with `make .venv-inspect/done`, or run "
                    "with --sdm conda"
                )
            except Exception as error:  # its reader fails in any way on a file that is no log
                return _refuse(f"{log}: inspect_ai cannot read it ({type(error).__name__}: {error})")
    part.replace(given.out)
    return 0


def lines_of(log: str) -> Iterator[dict[str, Any]]:
    """Yield a line of the format ``plain`` for each sample and epoch of a log."""
    from inspect_ai.log import read_eval_log

    # Long texts are kept apart in a log, as attachments.
    found = read_eval_log(log, resolve_attachments=True)
    settings = found.eval.model_generate_config.model_dump() | found.plan.config.model_dump(exclude_none=True)
    stated = {"model": found.eval.model}
    stated |= {
        name: settings[name] for name in ("temperature", "max_tokens") if settings.get(name) is not None
    }
    for number, sample in enumerate(found.samples or [], 1):
        yield {
            "file": Path(log).name,
            "line": number,
            **_line(sample, settings.get("system_message")),
            **stated,
        }


def _line(sample: Any, system: str | None = None) -> dict[str, Any]:
    # What the model received: solvers may have added to what the dataset has. An empty chat is none.
    chat = list(sample.messages)
    asked = (chat[:-1] if chat and str(chat[-1].role) == "assistant" else chat) or sample.input
    messages = (
        [{"role": "user", "content": asked}]
        if isinstance(asked, str)
        else [{"role": str(message.role), "content": message.text} for message in asked]
    )
    # Inspect puts the system message of its settings in front of every chat, and records it nowhere else.
    before = [{"role": "system", "content": system}] if system else []
    output, failed = sample.output, sample.error is not None or bool(sample.output.error)
    answered = bool(output.choices)
    reason = str(output.stop_reason) if answered else "error"
    usage = output.usage
    return {
        "id": str(sample.id),
        "messages": before + messages,
        "text": output.completion if answered else None,
        "finish_reason": "error" if failed else REASONS.get(reason, reason),
        "n_prompt_tokens": usage.input_tokens if usage else None,
        "n_output_tokens": usage.output_tokens if usage else None,
    }


def _refuse(message: str) -> int:
    print(f"\n{message}\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
