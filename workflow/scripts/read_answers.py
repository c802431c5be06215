"""Read the level of the scale out of every response."""

import pandas as pd
from cinorms import tables
from cinorms.answers import read_responses
from cinorms.logs import start_logging
from cinorms.scales import SCALES

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    shards = [tables.read(path, tables.RESPONSES) for path in snakemake.input.responses]
    responses = tables.stack(shards, tables.RESPONSES)
    answers = read_responses(responses, SCALES[snakemake.params.scale])
    tables.write(answers, snakemake.output.answers, tables.ANSWERS)
    print(pd.Series(answers["status"]).value_counts().to_string())
