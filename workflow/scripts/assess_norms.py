"""Assess the answers of every flow: the norm a model holds, or why there is none."""

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.norms.assessment import assess

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    answers = tables.read(snakemake.input.answers, tables.ANSWERS)
    scale = Scale.from_plain(snakemake.params.scale)
    norms = assess(answers=answers, consensus=snakemake.params.consensus, scale=scale)
    tables.write(norms, snakemake.output.norms, tables.NORMS)
    print(f"{len(norms):,} flows assessed")
