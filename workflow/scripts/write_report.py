"""Write the study's report: one HTML page."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.report.page import render
from cinorms.report.results import read_page_results
from cinorms.study.facts import StudyFacts

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    results = read_page_results(
        StudyFacts.model_validate(snakemake.params.study), dict(snakemake.input.items())
    )
    text = render(results, snakemake.params.command)
    Path(snakemake.output.page).write_text(text, encoding="utf-8")
    print(f"{len(text.encode()):,} bytes")
