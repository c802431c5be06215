"""List the variants of an arm: wordings x orders."""

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.prompts.prompt_sets import insist_on_confirmed, load_prompt_set
from cinorms.prompts.variants import list_variants

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    prompt_set = load_prompt_set(snakemake.input.prompt_set)
    if not snakemake.wildcards.planned:
        insist_on_confirmed(prompt_set)
    counts, templates = snakemake.params.counts, prompt_set.worded(snakemake.params.layout)
    variants = list_variants(prompt_set.name, templates, counts["templates"], counts["orders"])
    tables.write(variants, snakemake.output.variants, tables.PROMPTS)
    print(f"{len(variants)} variants: {counts['templates']} wordings x {counts['orders']} orders")
