"""Set out a table as in print, as CSV, LaTeX and HTML."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.entries.kinds import KINDS, read_selected
from cinorms.printed.latex import to_latex
from cinorms.printed.write import to_csv, to_html

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    entry = snakemake.params.entry
    kind = KINDS["printed"][entry["kind"]]
    table = kind.load()(read_selected(kind, entry, list(snakemake.input.get("frames", []))), entry)
    for path, write in (
        (snakemake.output.csv, to_csv),
        (snakemake.output.latex, to_latex),
        (snakemake.output.html, to_html),
    ):
        Path(path).write_text(write(table), encoding="utf-8")
    print(to_csv(table))
