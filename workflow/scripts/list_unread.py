"""List the replies that no exact rule reads, and what a coder is asked about them."""

from cinorms.answers.acting import read_replies
from cinorms.answers.coding.codes import find_unread, list_readings, merge_items, merge_readings
from cinorms.answers.coding.prompt import prompts_of, questions_of
from cinorms.answers.overrides import overrides_of
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    scale = Scale.from_plain(snakemake.params.scale)
    given = snakemake.input
    overrides = overrides_of(given.overrides, snakemake.params.levels)
    parts, readings = [], []
    files = zip(given.vignettes, given.variants, given.responses, strict=True)
    for model, (vignettes_file, prompts_file, responses_file) in zip(
        snakemake.params.models, files, strict=True
    ):
        responses = tables.read(responses_file, tables.RESPONSES)
        variants = tables.read(prompts_file, tables.PROMPTS)
        vignettes = tables.read(vignettes_file, tables.VIGNETTES)
        answers = read_replies(responses, scale, vignettes, variants, overrides)
        unread = find_unread(responses, answers, vignettes, scale.name)
        parts.append(unread.items)
        readings.append(list_readings(model, answers, unread))
    items = merge_items(parts)
    tables.write(questions_of(items), snakemake.output.unread, tables.VIGNETTES)
    tables.write(prompts_of(scale), snakemake.output.prompts, tables.PROMPTS)
    tables.write(merge_readings(readings), snakemake.output.readings, tables.READINGS)
    print(f"No exact rule reads {len(items):,} distinct replies to a flow.")
