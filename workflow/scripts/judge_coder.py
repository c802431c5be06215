"""Draw the sample that a person codes, compare coder and rules with it, and keep the codes that count."""

from pathlib import Path

import pandas as pd

from cinorms.answers.coding.codes import codes_that_count, read_codes, with_codes
from cinorms.answers.coding.sample import as_levels, compare, draw_sample, load_codes, make_sheet, write_sheet
from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.inference.responses import check_complete

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    given, asked = snakemake.input, snakemake.params
    scales = {name: Scale.from_plain(plain) for name, plain in asked.scales.items()}
    questions = [tables.read(path, tables.VIGNETTES) for path in given.unread]
    readings = [tables.read(path, tables.READINGS) for path in given.readings]
    replies = [None] * len(scales)
    for at, (path, request) in enumerate(zip(given.replies, asked.requests.values(), strict=True)):
        replies[at] = tables.read(path, tables.RESPONSES)
        check_complete(
            path, replies[at], request, questions[at], tables.read(given.prompts[at], tables.PROMPTS)
        )
    parts = zip(scales.values(), questions, replies, readings, strict=True)
    coded = [with_codes(read, read_codes(items, reply, scale)) for scale, items, reply, read in parts]
    every, shown = (pd.concat(parts, ignore_index=True) for parts in (coded, questions))
    shown["scale"] = [name for name, items in zip(scales, questions, strict=True) for _ in range(len(items))]
    written = load_codes(given.coded[0], scales.values()) if given.coded else {}
    by_hand = as_levels(written, shown, scales)
    sample = draw_sample(every, asked.sample, asked.seed)
    agreement = compare(every, sample, by_hand, asked.needed, asked.tried)
    write_sheet(
        make_sheet(sample, shown, written, scales), Path(snakemake.output.codes).with_name("to_code.csv")
    )
    csv_tables.write(agreement, snakemake.output.agreement, csv_tables.AGREEMENT)
    codes = codes_that_count(every, by_hand, agreement, asked.coder)
    tables.write(codes, snakemake.output.codes, tables.CODES)
