"""Draw one figure of the study as PDF, PNG and SVG."""

from cinorms.core.csv_files import write_csv
from cinorms.core.logs import start_logging
from cinorms.entries.entry import ENTRIES
from cinorms.entries.files import make
from cinorms.figures.theme import data_of, save

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    entry = ENTRIES.validate_python(snakemake.params.entry)
    drawn = make(entry, {name: list(files) for name, files in snakemake.input.items()})
    save(drawn, snakemake.output.pdf, snakemake.output.png, snakemake.output.svg, snakemake.output.caption)
    write_csv(data_of(drawn, entry.declared, entry.labels), snakemake.output.data)
    print(drawn.caption)
