"""Expand a dataset into one row per flow."""

import os

from cinorms.core import tables
from cinorms.core.csv_files import write_csv
from cinorms.core.logs import start_logging
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.reading import read_vignettes

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    flows = read_vignettes(
        load_dataset(snakemake.input.dataset[0]),
        cache_dir=".cache/data",
        mirror=os.environ.get("CINORMS_MIRROR"),
    )
    tables.write(flows, snakemake.output.vignettes, tables.VIGNETTES)
    write_csv(flows, snakemake.output.csv)
    print(f"{len(flows):,} flows, e.g. {flows['vignette'].iloc[0]!r}")
