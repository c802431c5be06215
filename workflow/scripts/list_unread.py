"""List the replies that no rule can read, and what the coder is asked about them."""

from cinorms.answers.acting import read_replies
from cinorms.answers.overrides import load_overrides
from cinorms.coding.codes import find_unread, merge_items
from cinorms.coding.prompt import prompts_of, questions_of
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    scale = Scale.of(snakemake.params.scale)
    given, levels = snakemake.input.overrides, snakemake.params.levels
    overrides = load_overrides(given[0], levels) if given else None
    parts = []
    for vignettes_file, prompts_file, *shards in snakemake.params.files:
        responses = tables.stack([tables.read(path, tables.RESPONSES) for path in shards], tables.RESPONSES)
        variants = tables.read(prompts_file, tables.PROMPTS)
        vignettes = tables.read(vignettes_file, tables.VIGNETTES)
        answers = read_replies(responses, scale, vignettes, variants, overrides)
        parts.append(find_unread(responses, answers, vignettes, scale.name).items)
    items = merge_items(parts)
    tables.write(questions_of(items), snakemake.output.unread, tables.VIGNETTES)
    tables.write(prompts_of(scale), snakemake.output.prompts, tables.PROMPTS)
    print(f"{len(items):,} distinct replies to a flow have no level that a rule can read.")
