"""Put a paper's printed numbers next to this study's, as a CSV file and a page."""

from pathlib import Path

from cinorms.core import csv_tables
from cinorms.core.checksums import read_tidy
from cinorms.core.csv_files import read_csv
from cinorms.core.errors import ConfigError
from cinorms.core.logs import start_logging
from cinorms.printed.comparison import compare, compare_sentences, render, sentences_text, summary_text
from cinorms.printed.images import compare_images, images_summary, images_text
from cinorms.published.releases import load_release, read_numbers

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    if not snakemake.input.release:
        raise ConfigError("compare: null names no release; the target 'replicate' needs one, e.g. pets2026")
    release = load_release(snakemake.input.release)
    # Where a figure has the name of an analysis, numbers are of the analysis.
    computed = {Path(path).stem: read_csv(path) for path in snakemake.input.drawn}
    computed |= {Path(path).stem: read_tidy(path) for path in snakemake.input.tables}
    comparison = compare(read_numbers(release), computed, release.reaches)
    csv_tables.write(comparison, snakemake.output.comparison, csv_tables.COMPARISON)
    sentences = compare_sentences(release, computed)
    csv_tables.write(sentences, snakemake.output.sentences, csv_tables.SENTENCES)
    drawn = {Path(path).stem: read_csv(path, as_text=True) for path in snakemake.input.drawn}
    images = compare_images(release, drawn)
    csv_tables.write(images, snakemake.output.images, csv_tables.IMAGES)
    of_study = (snakemake.params.models, snakemake.params.mark, snakemake.params.figures)
    page = render(release, comparison, sentences, images_summary(images), *of_study)
    Path(snakemake.output.page).write_text(page, encoding="utf-8")
    print(summary_text(comparison), images_text(images), sentences_text(sentences), sep="\n")
