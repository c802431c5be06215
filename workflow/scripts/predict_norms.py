"""Predict which norms of a model as many fresh wordings would give again."""

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.again import predict

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    table = predict(
        tables.read(snakemake.input.answers, tables.ANSWERS),
        tables.read(snakemake.input.norms, tables.NORMS),
        tables.read(snakemake.input.prompts, tables.PROMPTS),
        Scale.from_plain(snakemake.params.scale),
        Thresholds(*snakemake.params.thresholds),
        people=snakemake.params.people,
    )
    tables.write(table, snakemake.output.again, tables.AGAIN)
    print(table.drop(columns=["flow", "p_again"]).head(1).T.to_string(header=False))
