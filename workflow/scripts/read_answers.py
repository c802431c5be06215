"""Read the level of the scale from every response."""

from cinorms.answers.overrides import load_overrides, match_overrides
from cinorms.answers.read import read_responses
from cinorms.answers.review import review_table, write_review
from cinorms.coding.codes import apply_codes
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import SCALES
from cinorms.inference.completeness import check_complete

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    shards = [tables.read(path, tables.RESPONSES) for path in snakemake.input.responses]
    vignettes = tables.read(snakemake.input.vignettes, tables.VIGNETTES)
    variants = tables.read(snakemake.input.variants, tables.PROMPTS)
    if snakemake.params.asked:
        for path, shard in zip(snakemake.input.responses, shards, strict=True):
            check_complete(path, shard, snakemake.params.asked, vignettes, variants)
    responses = tables.stack(shards, tables.RESPONSES)
    overrides = load_overrides(snakemake.input.overrides[0]) if snakemake.input.overrides else None
    answers = read_responses(
        responses,
        SCALES[snakemake.params.scale],
        overrides=overrides,
        prompts=variants,
    )
    if snakemake.input.codes:
        codes = tables.read(snakemake.input.codes[0], tables.CODES)
        answers = apply_codes(answers, responses, vignettes, snakemake.params.scale, codes)
    tables.write(answers, snakemake.output.answers, tables.ANSWERS)
    write_review(review_table(responses, answers), snakemake.output.review)
    print(answers["status"].value_counts().to_string())
    if overrides is not None:
        print(match_overrides(responses, overrides).to_string())
