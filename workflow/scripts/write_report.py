"""Write the study's report: one HTML page."""

from pathlib import Path

from cinorms.logs import start_logging
from cinorms.report import render

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    page = render(
        settings=snakemake.params.settings,
        planted=snakemake.params.planted,
        figures=[Path(path) for path in snakemake.input.figures],
        tables=[Path(path) for path in snakemake.input.tables],
        previews=[Path(path) for path in snakemake.input.previews],
    )
    Path(snakemake.output.page).write_text(page, encoding="utf-8")
    print(f"{len(page):,} characters")
