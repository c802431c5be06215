"""List the variants of an arm whose paraphrases are not there yet, the original in the place of each."""

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    prompt_set = load_prompt_set(snakemake.input.prompt_set)
    counts = snakemake.params.counts
    templates = [prompt_set.templates[0]] * prompt_set.n_templates
    variants = list_variants(prompt_set.name, templates, counts["templates"], counts["orders"])
    tables.write(variants, snakemake.output.variants, tables.PROMPTS)
    print(f"{len(variants)} variants planned")
