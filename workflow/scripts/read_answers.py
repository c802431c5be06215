"""Read the level of the scale from every response."""

from cinorms.answers.coding.whole_arm import ArmReader
from cinorms.answers.overrides import merge_reviews, overrides_of, write_review
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    place = snakemake.wildcards.arm, snakemake.wildcards.model
    overrides = overrides_of(snakemake.input.overrides, snakemake.params.levels, *place)
    reader = ArmReader(
        vignettes=tables.read(snakemake.input.vignettes, tables.VIGNETTES),
        variants=tables.read(snakemake.input.variants, tables.PROMPTS),
        scale=Scale.from_plain(snakemake.params.scale),
        asked=snakemake.params.asked,
        overrides=overrides,
        model=snakemake.wildcards.model,
        codes=tables.read(snakemake.input.codes[0], tables.CODES) if snakemake.input.codes else None,
    )
    answers = reader.read(snakemake.input.responses)
    facts = tables.origin(snakemake.wildcards.study, *place)
    tables.write_ranges(answers, snakemake.output.answers, tables.ANSWERS, facts)
    write_review(merge_reviews(reader.reviews), snakemake.output.review)
    print(reader.statuses.to_string())
    if overrides is not None:
        print(overrides.assign(n_responses=sum(reader.settled)).to_string())
