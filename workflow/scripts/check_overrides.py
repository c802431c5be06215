"""Count the responses that each override settles; fail where one settles none."""

from cinorms.answers.overrides import load_overrides, settled
from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    path = snakemake.input.overrides[0]
    shards = (
        tables.read(shard, tables.RESPONSES, ["text", "finish_reason"]) for shard in snakemake.input.responses
    )
    counts = settled(shards, load_overrides(path, snakemake.params.levels), path)
    csv_tables.write(counts, snakemake.output.settled, csv_tables.OVERRIDES)
    print(f"{len(counts)} overrides settle {counts['n_responses'].sum():,} responses")
