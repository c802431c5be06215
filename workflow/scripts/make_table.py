"""Make one table of the study's analyses, as Parquet and CSV."""

from cinorms.analyses.columns import ANY_PLANTED
from cinorms.core.checksums import write_tidy
from cinorms.core.logs import start_logging
from cinorms.entries.entry import ENTRIES
from cinorms.entries.files import make

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    entry = ENTRIES.validate_python(snakemake.params.entry)
    table = make(entry, {name: list(files) for name, files in snakemake.input.items()})
    table = table.assign(**dict.fromkeys(ANY_PLANTED, bool(entry.respondents)))
    write_tidy(table, snakemake.output.parquet, snakemake.output.csv)
    print(f"{entry.name}: {len(table)} rows")
