"""Read the replies of the further askings of an arm, and compare them with those of the first."""

from pathlib import Path

from cinorms.answers.acting import read_replies
from cinorms.answers.overrides import overrides_of
from cinorms.answers.read import repeated_answers
from cinorms.coding.codes import apply_codes
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.core.tables import REPEATS
from cinorms.inference.collected_replies import check_complete
from cinorms.inference.spec import repeat_of

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    vignettes = tables.read(snakemake.input.vignettes, tables.VIGNETTES)
    variants = tables.read(snakemake.input.variants, tables.PROMPTS)
    scale, model = Scale.of(snakemake.params.scale), snakemake.wildcards.model
    overrides = overrides_of(snakemake.input.overrides, snakemake.params.levels)
    codes = tables.read(snakemake.input.codes[0], tables.CODES) if snakemake.input.codes else None
    shards, replies, answers = {}, {}, {}
    for path in (*snakemake.input.first, *snakemake.input.repeats):
        shard = tables.read(path, tables.RESPONSES)
        check_complete(path, shard, snakemake.params.asked, vignettes, variants)
        shards.setdefault(repeat_of(Path(path).stem), []).append(shard)
    for repeat, found in shards.items():
        replies[repeat] = tables.stack(found, tables.RESPONSES)
    first = replies.pop(1)
    for repeat, again in replies.items():
        answers[repeat] = read_replies(again, scale, vignettes, variants, overrides)
        if codes is not None:
            answers[repeat] = apply_codes(answers[repeat], again, vignettes, scale.name, codes, model)
    table = repeated_answers(first, replies, answers)
    tables.write(table, snakemake.output.repeats, REPEATS)
    same = table.groupby("repeat")["same_reply"].mean()
    print("Share of replies that are the first asking's, by repeat:")
    print(same.to_string())
