"""Lay out a table as in print, as CSV, LaTeX and HTML."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.entries.entry import ENTRIES
from cinorms.entries.files import make
from cinorms.printed.write import to_csv, to_html, to_latex

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    entry = ENTRIES.validate_python(snakemake.params.entry)
    table = make(entry, {"frames": list(snakemake.input.get("frames", []))})
    for path, write in (
        (snakemake.output.csv, to_csv),
        (snakemake.output.latex, to_latex),
        (snakemake.output.html, to_html),
    ):
        Path(path).write_text(write(table), encoding="utf-8")
    print(to_csv(table))
