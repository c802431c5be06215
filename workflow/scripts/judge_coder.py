"""Compare the coder with a person on a sample, and keep the codes that count."""

from pathlib import Path

import pandas as pd

from cinorms.coding.codes import codes_that_count, read_replies
from cinorms.coding.sample import as_levels, compare, draw_sample, load_codes, make_sheet, write_sheet
from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.inference.collected_replies import check_complete

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    given, asked = snakemake.input, snakemake.params
    scales = {name: Scale.of(spec["scale"]) for name, spec in asked.specs.items()}
    items, coded = [], []
    for (name, spec), *paths in zip(
        asked.specs.items(), given.unread, given.prompts, given.replies, strict=True
    ):
        questions = tables.read(paths[0], tables.VIGNETTES)
        replies = tables.read(paths[2], tables.RESPONSES)
        check_complete(paths[2], replies, spec, questions, tables.read(paths[1], tables.PROMPTS))
        items.append(questions.assign(scale=name))
        coded.append(read_replies(questions, replies, scales[name]))
    items, coded = pd.concat(items, ignore_index=True), pd.concat(coded, ignore_index=True)
    written = load_codes(given.coded[0], scales.values()) if given.coded else {}
    by_hand = as_levels(written, items, scales)
    sample = draw_sample(coded, asked.sample, asked.seed)
    agreement = compare(coded, sample, by_hand, asked.needed)
    write_sheet(make_sheet(sample, items, written, scales), Path(asked.sheet))
    csv_tables.write(agreement, snakemake.output.agreement, csv_tables.AGREEMENT)
    codes = codes_that_count(coded, by_hand, agreement, asked.coder)
    tables.write(codes, snakemake.output.codes, tables.CODES)
    print(agreement.to_string(index=False))
