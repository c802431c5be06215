"""Take the responses of a model from one of the authors' raw CSV files, texts unaltered."""

from cinorms.core import tables
from cinorms.core.csv_files import check_header
from cinorms.core.logs import start_logging
from cinorms.published.frames import read_raw_csv
from cinorms.published.releases import check_variants

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    vignettes = tables.read(snakemake.input.vignettes, tables.VIGNETTES)
    check_header(snakemake.input.raw)
    responses = read_raw_csv(snakemake.input.raw, vignettes)
    variants = tables.read(snakemake.input.variants, tables.PROMPTS)
    check_variants(responses, variants, snakemake.input.raw)
    tables.write(tables.by_key(responses, tables.RESPONSES), snakemake.output.responses, tables.RESPONSES)
    print(f"{len(responses):,} responses, {responses['flow'].nunique():,} flows")
