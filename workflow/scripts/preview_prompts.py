"""Write a sample of rendered prompts for people."""

from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.prompts.variants import preview

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    sample = preview(
        vignettes=tables.read(snakemake.input.vignettes, tables.VIGNETTES),
        variants=tables.read(snakemake.input.variants, tables.PROMPTS),
        arm=snakemake.params.arm,
        scale=Scale.from_plain(snakemake.params.scale),
        seed=snakemake.params.seed,
    )
    csv_tables.write(sample, snakemake.output.preview, csv_tables.PREVIEW)
    print(f"{len(sample)} prompts shown")
