"""Write the study's report: one HTML page."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.report.page import render
from cinorms.report.results import read_material

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    page = Path(snakemake.output.page)
    material = read_material(snakemake.params.study, page.parents[1])
    text = render(material, snakemake.params.command)
    page.write_text(text, encoding="utf-8")
    print(f"{len(text.encode()):,} bytes")
