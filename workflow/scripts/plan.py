"""Print what a study will ask and what that will cost, before anything is asked."""

import sys
from pathlib import Path

from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging
from cinorms.study.plan import add_precision, as_text, estimate

if __name__ == "__main__":
    terminal = sys.stdout
    start_logging(snakemake.log[0])
    vignettes, variants = (
        {name: tables.read(path, schema) for name, path in zip(names, paths, strict=True)}
        for names, paths, schema in (
            (snakemake.params.datasets, snakemake.input.vignettes, tables.VIGNETTES),
            (snakemake.params.arms, snakemake.input.variants, tables.PROMPTS),
        )
    )
    plan = estimate(snakemake.params.asked, vignettes, variants, snakemake.params.judge)
    folder = Path(snakemake.output.plan).parents[1] / snakemake.params.pilot
    pilot = {}
    for arm, model in ((ask["arm"], ask["model"]) for ask in snakemake.params.asked):
        answers, prompts = folder / f"answers/{arm}/{model}.parquet", folder / f"prompts/{arm}.parquet"
        if answers.exists() and prompts.exists():
            pilot[arm, model] = tables.read(answers, tables.ANSWERS), tables.read(prompts, tables.PROMPTS)
    if pilot:
        plan = add_precision(plan, pilot, snakemake.params.target_phi)
    csv_tables.write(plan, snakemake.output.plan, csv_tables.PLAN)
    left = f"Now, with the replies in the store: {snakemake.params.left}."
    warnings = (f"warning: {warning}" for warning in snakemake.params.warnings)
    # Python would flush only what is its output at its end: the log.
    print(as_text(plan), left, *warnings, sep="\n", file=terminal, flush=True)
