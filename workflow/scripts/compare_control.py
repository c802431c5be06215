"""Compare what was recovered from the control model with what was planted in it."""

import sys

import pandas as pd

from cinorms.control.compare import check_agreement, compare, summary
from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.norms.thresholds import Thresholds

if __name__ == "__main__":
    terminal = sys.stderr
    start_logging(snakemake.log[0])
    given = snakemake.params.planted
    vignettes = tables.read(snakemake.input.vignettes, tables.VIGNETTES)
    parts = [
        compare(
            arm,
            tables.read(norms, tables.NORMS),
            tables.stack([tables.read(path, tables.RESPONSES) for path in responses], tables.RESPONSES),
            vignettes,
            given["factors"],
            given["norms"],
            Scale.of(given["scale"]),
            Thresholds(**given["thresholds"]),
            given["seed"],
        )
        for (arm, responses), norms in zip(given["arms"].items(), snakemake.input.norms, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True)
    for stream in (sys.stdout, terminal):
        print(f"\n{summary(table)}\n", file=stream)
    check_agreement(table)
    csv_tables.write(table, snakemake.output.table, csv_tables.CONTROL)
