"""Print how many printed numbers match, and fail if one does not."""

import sys
from pathlib import Path

from cinorms.core.csv_files import read_csv
from cinorms.core.errors import DataError
from cinorms.core.logs import start_logging
from cinorms.replication.comparison import mismatch_text, mismatches, summary_text

if __name__ == "__main__":
    terminal = sys.stdout
    start_logging(snakemake.log[0])
    comparison = read_csv(snakemake.input.comparison, as_text=True)
    summary = f"\nPrinted numbers, computed again\n{summary_text(comparison)}\n"
    print(summary, file=terminal, flush=True)
    print(summary)
    missed = mismatches(comparison)
    if len(missed):
        raise DataError(
            f"{len(missed)} printed numbers do not match ({snakemake.input.page} has all):\n{mismatch_text(comparison)}"
        )
    Path(snakemake.output.summary).write_text(summary, encoding="utf-8")
