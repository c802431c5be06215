"""Count the responses that each override settles; fail where one settles none."""

from cinorms.answers.overrides import load_overrides, settled
from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    path = snakemake.input.overrides[0]
    columns = ["flow", "variant", "text", "finish_reason"]
    responses = (
        (arm, model, tables.read(file, tables.RESPONSES, columns))
        for (arm, model), file in zip(snakemake.params.pairs, snakemake.input.responses, strict=True)
    )
    counts = settled(responses, load_overrides(path, snakemake.params.levels), path)
    csv_tables.write(counts, snakemake.output.settled, csv_tables.OVERRIDES)
    print(f"{len(counts)} overrides settle {counts['n_responses'].sum():,} responses")
