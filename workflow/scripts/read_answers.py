"""Read the level of the scale from every response."""

from cinorms.answers.acting import read_replies
from cinorms.answers.overrides import load_overrides, match_overrides, review_table, write_review
from cinorms.coding.codes import apply_codes
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.inference.collected_replies import check_complete
from cinorms.inference.until_decided import add_not_asked

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    shards = [tables.read(path, tables.RESPONSES) for path in snakemake.input.responses]
    vignettes = tables.read(snakemake.input.vignettes, tables.VIGNETTES)
    variants = tables.read(snakemake.input.variants, tables.PROMPTS)
    if snakemake.params.asked:
        for path, shard in zip(snakemake.input.responses, shards, strict=True):
            check_complete(path, shard, snakemake.params.asked, vignettes, variants)
    responses = tables.stack(shards, tables.RESPONSES)
    scale = Scale.of(snakemake.params.scale)
    given, levels = snakemake.input.overrides, snakemake.params.levels
    overrides = load_overrides(given[0], levels) if given else None
    answers = read_replies(responses, scale, vignettes, variants, overrides)
    if snakemake.input.codes:
        codes = tables.read(snakemake.input.codes[0], tables.CODES)
        model = snakemake.wildcards.model
        answers = apply_codes(answers, responses, vignettes, scale.name, codes, model)
    write_review(review_table(responses, answers), snakemake.output.review)
    if snakemake.params.asked:
        answers = add_not_asked(answers, snakemake.params.asked, vignettes, variants)
    tables.write(answers, snakemake.output.answers, tables.ANSWERS)
    print(answers["status"].value_counts().to_string())
    if overrides is not None:
        print(match_overrides(responses, overrides).to_string())
