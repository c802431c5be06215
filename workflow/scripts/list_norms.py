"""List every flow of every arm and model: its factors in words, and the norm or why there is none."""

from cinorms.core.checksums import write_tidy
from cinorms.core.logs import start_logging
from cinorms.entries.entry import ENTRIES
from cinorms.entries.files import make

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    entry = ENTRIES.validate_python(snakemake.params.entry)
    table = make(entry, {name: list(files) for name, files in snakemake.input.items()})
    write_tidy(table, snakemake.output.parquet, snakemake.output.csv)
    print(f"{len(table):,} rows, {int((table['status'] == 'kept').sum()):,} norms")
