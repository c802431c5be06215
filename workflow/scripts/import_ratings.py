"""Take the answers of people from a survey's file, without anything that names a person."""

import os

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.human.ratings import read_ratings
from cinorms.human.survey import load_survey
from cinorms.vignettes.source_files import get

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    survey, asked = load_survey(snakemake.input.survey[0]), snakemake.params.asked
    mirror = os.environ.get("CINORMS_MIRROR")
    files = {name: get(source, ".cache/data", mirror) for name, source in survey.sources.items()}
    ratings = read_ratings(
        survey,
        asked["question"],
        files["ratings"],
        vignettes=tables.read(snakemake.input.vignettes, tables.VIGNETTES),
        levels=asked["levels"],
        select=asked["select"],
        questions=files.get("questions"),
        people=files.get("people"),
    )
    named = snakemake.wildcards
    metadata = tables.origin(named.study, named.arm, named.model, len(ratings.answers))
    tables.write(ratings.answers, snakemake.output.answers, tables.ANSWERS, metadata)
    print(*ratings.notes, sep="\n")
