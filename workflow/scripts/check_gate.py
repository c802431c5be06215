"""Print the verdicts of a gate, and fail if it does not pass."""

import json
import sys
from pathlib import Path

from cinorms.core.errors import DataError
from cinorms.core.logs import start_logging
from cinorms.gate.files import summary

if __name__ == "__main__":
    terminal = sys.stdout
    start_logging(snakemake.log[0])
    gate = json.loads(Path(snakemake.input.json).read_text(encoding="utf-8"))
    text = f"\n{summary(gate)}\n"
    print(text, file=terminal, flush=True)
    print(text)
    if gate["exit_code"]:
        raise DataError(
            f"gate {snakemake.wildcards.gate}: {gate['verdict']}; {snakemake.input.page} shows why"
        )
    Path(snakemake.output.summary).write_text(text, encoding="utf-8")
