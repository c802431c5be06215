"""Print what a study will ask and what that will cost, before anything is asked."""

import sys

from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging
from cinorms.study.plan import add_precision, as_text, estimate

if __name__ == "__main__":
    terminal = sys.stdout
    start_logging(snakemake.log[0])
    vignettes = {name: tables.read(p, tables.VIGNETTES) for name, p in snakemake.params.vignettes.items()}
    variants = {name: tables.read(p, tables.PROMPTS) for name, p in snakemake.params.variants.items()}
    plan = estimate(snakemake.params.asked, vignettes, variants, snakemake.params.judge)
    if snakemake.params.pilot is not None:
        pilot = {
            tuple(pair): (tables.read(answers, tables.ANSWERS), tables.read(prompts, tables.PROMPTS))
            for pair, (answers, prompts) in snakemake.params.pilot
        }
        plan = add_precision(plan, pilot, snakemake.params.target_se)
    csv_tables.write(plan, snakemake.output.plan, csv_tables.PLAN)
    print(as_text(plan), file=terminal)
    if snakemake.params.left:
        print(f"Now, with the replies in the journal: {snakemake.params.left}.", file=terminal)
    for warning in snakemake.params.norms:
        print(f"warning: {warning}", file=terminal)
