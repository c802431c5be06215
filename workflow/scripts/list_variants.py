"""List the variants of an arm: templates x orders."""

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    prompt_set = load_prompt_set(snakemake.input.prompt_set)
    counts = snakemake.params.counts
    variants = list_variants(prompt_set.name, prompt_set.templates, counts["templates"], counts["orders"])
    tables.write(variants, snakemake.output.variants, tables.PROMPTS)
    print(f"{len(variants)} variants: {counts['templates']} templates x {counts['orders']} orders")
