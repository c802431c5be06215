"""Read the level of the scale from every response."""

from cinorms.answers.coding.whole_arm import read_arm
from cinorms.answers.overrides import overrides_of, write_review
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    place = snakemake.wildcards.arm, snakemake.wildcards.model
    answers, review, settled = read_arm(
        snakemake.input.responses,
        vignettes=tables.read(snakemake.input.vignettes, tables.VIGNETTES),
        variants=tables.read(snakemake.input.variants, tables.PROMPTS),
        scale=Scale.from_plain(snakemake.params.scale),
        model=snakemake.wildcards.model,
        asked=snakemake.params.asked,
        overrides=overrides_of(snakemake.input.overrides, snakemake.params.levels, *place),
        codes=tables.read(snakemake.input.codes[0], tables.CODES) if snakemake.input.codes else None,
    )
    metadata = tables.origin(snakemake.wildcards.study, *place)
    tables.write(answers, snakemake.output.answers, tables.ANSWERS, metadata)
    write_review(review, snakemake.output.review)
    print(answers["status"].value_counts().to_string())
    if settled is not None:
        print(settled.to_string())
