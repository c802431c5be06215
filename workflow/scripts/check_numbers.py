"""Print how many printed numbers match, and fail if one does not."""

import sys
from pathlib import Path

from cinorms.core.csv_files import read_csv
from cinorms.core.errors import DataError
from cinorms.core.logs import start_logging
from cinorms.printed.comparison import mismatch_text, sentences_text, summary_text, unexpected
from cinorms.printed.images import images_missed, images_text

if __name__ == "__main__":
    terminal = sys.stdout
    start_logging(snakemake.log[0])
    comparison = read_csv(snakemake.input.comparison, as_text=True)
    sentences = read_csv(snakemake.input.sentences, as_text=True)
    images = read_csv(snakemake.input.images, as_text=True)
    texts = [summary_text(comparison), images_text(images), sentences_text(sentences)]
    summary = "\n".join(
        ["", "Printed numbers, computed again", *filter(None, texts), f"  page: {snakemake.input.page}", ""]
    )
    print(summary, file=terminal, flush=True)
    print(summary)
    if missed := mismatch_text(comparison):
        raise DataError(f"printed numbers do not match ({snakemake.input.page} has all):\n{missed}")
    if apart := images_missed(images):
        raise DataError(
            f"figures differ from the authors' images ({snakemake.input.images} has all):\n{apart}"
        )
    others = unexpected(sentences)
    if len(others):
        lines = others[["sentence", "model", "flow", "stated", "found"]].agg(": ".join, axis=1)
        raise DataError(
            f"{len(others)} cells of sentences do not come out as the release states "
            f"({snakemake.input.sentences} has all):\n" + "\n".join(f"  {line}" for line in lines)
        )
    Path(snakemake.output.summary).write_text(summary, encoding="utf-8")
