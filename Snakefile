# `snakemake` from the root runs the workflow of workflow/Snakefile. A bare include would leave it without a default
# target (Snakemake takes the first rule of the file it was given), hence this one rule.
include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
