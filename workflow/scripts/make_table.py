"""Make one table of the study's analyses, as Parquet, CSV and LaTeX."""

from pathlib import Path

from cinorms.core import tables
from cinorms.core.labels import PLANTED_MARK
from cinorms.core.logs import start_logging
from cinorms.entries.kinds import KINDS, read_further, read_selected
from cinorms.printed.latex import to_latex

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    entry = snakemake.params.entry
    kind = KINDS["analyses"][entry["kind"]]
    paths = {name: list(files) for name, files in snakemake.input.items()}
    table = kind.load()(
        read_selected(kind, entry, paths["frames"]), entry, **read_further(kind, entry, paths)
    )
    notes = [PLANTED_MARK] if entry["planted"] else []
    Path(snakemake.output.latex).write_text(to_latex(table, kind.columns, notes), encoding="utf-8")
    table.insert(len(table.columns), "any_planted", entry["planted"])
    tables.write_tidy(table, snakemake.output.parquet, snakemake.output.csv)
    print(f"{entry['name']}: {len(table)} rows")
