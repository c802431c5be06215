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
    counts = snakemake.params.counts
    # In a plan, the original takes the place of each paraphrase that is still to be made.
    to_come = prompt_set.n_templates - len(prompt_set.templates)
    templates = [*prompt_set.templates, *prompt_set.templates[:1] * to_come]
    variants = list_variants(prompt_set.name, templates, counts["templates"], counts["orders"])
    tables.write(variants, snakemake.output.variants, tables.PROMPTS)
    print(f"{len(variants)} variants: {counts['templates']} wordings x {counts['orders']} orders")
