"""Take the answers of an arm from a published frame, one table per model."""

import os

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.published.releases import SEPARATOR, import_answers, load_release

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    imported = import_answers(
        load_release(snakemake.input.release[0]),
        frame=snakemake.params.arm["frame"].split(SEPARATOR)[1],
        models=snakemake.params.models,
        vignettes=tables.read(snakemake.input.vignettes, tables.VIGNETTES),
        variants=tables.read(snakemake.input.variants, tables.PROMPTS),
        cache_dir=".cache/data",
        mirror=os.environ.get("CINORMS_MIRROR"),
        scale=Scale.from_plain(snakemake.params.scale),
    )
    for path, (model, answers) in zip(snakemake.output.answers, imported, strict=True):
        metadata = tables.origin(snakemake.wildcards.study, snakemake.wildcards.arm, model, len(answers))
        tables.write(answers, path, tables.ANSWERS, metadata)
        print(f"{model}: {len(answers):,} answers, {int((answers['status'] == 'ok').sum()):,} of them valid")
