"""Assess the answers of every flow: the norm a model holds, or why there is none."""

import pandas as pd

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.norms.assessment import assess

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    scale = Scale.from_plain(snakemake.params.scale)
    parts = [
        assess(answers=answers, consensus=snakemake.params.consensus, scale=scale)
        for _, (answers,) in tables.read_ranges([snakemake.input.answers], tables.ANSWERS)
    ]
    norms = pd.concat(parts, ignore_index=True)
    tables.write(norms, snakemake.output.norms, tables.NORMS)
    print(f"{len(norms):,} flows assessed")
