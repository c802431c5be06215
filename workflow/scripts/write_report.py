"""Write the study's report: one page, and its appendix."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.report import appendix, page
from cinorms.report.results import read_page_results
from cinorms.study.metadata import StudyMetadata

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    results = read_page_results(
        StudyMetadata.model_validate(snakemake.params.study), dict(snakemake.input.items())
    )
    texts = {
        snakemake.output.page: page.render(results),
        snakemake.output.appendix: appendix.render(results, snakemake.params.command),
    }
    for path, text in texts.items():
        Path(path).write_text(text, encoding="utf-8")
        print(f"{path}: {len(text.encode()):,} bytes")
