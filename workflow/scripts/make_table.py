"""Make one table of the study's analyses."""

from cinorms import tables
from cinorms.kinds import KINDS, read_selected
from cinorms.logs import start_logging

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    entry = snakemake.params.entry
    kind = KINDS["analyses"][entry["kind"]]
    table = kind.load()(read_selected(kind, entry, list(snakemake.input.frames)), entry)
    tables.write_tidy(table, snakemake.output.parquet, snakemake.output.csv)
    print(f"{entry['name']}: {len(table)} rows")
