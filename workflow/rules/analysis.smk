"""Analysis: one tidy table for each entry of the study's `analyses`, and one laid out as in print for each of `printed`.

Inputs: answers or norms of the entry's arms and models; as its kind needs, vignettes, prompts, what was planted; for
        `printed`, the tables that it names
Outputs: results/{study}/tables/{analysis}.{parquet,csv,tex}, results/{study}/printed/{printed}.{csv,tex,html}
"""

PRINTED_TEMPLATES = LIBRARY / "cinorms" / "printed" / "templates"


rule make_table:
    input:
        unpack(get_entry_inputs),
        templates=str(PRINTED_TEMPLATES / "table.tex"),
    output:
        parquet="results/{study}/tables/{analysis}.parquet",
        csv=report(
            "results/{study}/tables/{analysis}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{analysis}"},
        ),
        latex="results/{study}/tables/{analysis}.tex",
    log:
        "logs/{study}/make_table/{analysis}.log",
    benchmark:
        "logs/{study}/make_table/{analysis}.benchmark.tsv"
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        entry=get_entry,
        code=get_entry_code,
    script:
        "../scripts/make_table.py"


rule print_table:
    input:
        unpack(get_entry_inputs),
        templates=multiext(str(PRINTED_TEMPLATES / "table"), ".tex", ".html"),
    output:
        csv="results/{study}/printed/{printed}.csv",
        latex="results/{study}/printed/{printed}.tex",
        html=report(
            "results/{study}/printed/{printed}.html",
            caption="../report/printed.rst",
            category="Printed tables",
            labels={"table": "{printed}"},
        ),
    log:
        "logs/{study}/print_table/{printed}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        entry=get_entry,
        code=get_entry_code,
    script:
        "../scripts/print_table.py"
