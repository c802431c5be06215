"""List the raters of an arm of people as its variants."""

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.human.ratings import list_raters

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    (answers,) = (tables.read(path, tables.ANSWERS) for path in snakemake.input.answers)
    asked = snakemake.params.asked
    raters = list_raters(answers, asked["survey"], asked["text"])
    tables.write(raters, snakemake.output.variants, tables.PROMPTS)
    print(f"{raters['template_no'].nunique():,} raters")
