"""Analysis: norms keep what a model says consistently about a flow; each entry of the study becomes a table or a figure."""

PRINTED_TEMPLATES = LIBRARY / "cinorms" / "printed" / "templates"


rule assess_norms:
    input:
        answers="results/{study}/answers/{arm}/{model}.parquet",
    output:
        norms="results/{study}/norms/{arm}/{model}.parquet",
    log:
        "logs/{study}/assess_norms/{arm}/{model}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        consensus=STUDY.settings.norms.consensus,
        scale=get_scale,
        code=code_of("assess_norms"),
    script:
        "../scripts/assess_norms.py"


rule predict_norms:
    input:
        answers="results/{study}/answers/{arm}/{model}.parquet",
        norms="results/{study}/norms/{arm}/{model}.parquet",
        prompts="results/{study}/prompts/{arm}.parquet",
    output:
        again="results/{study}/again/{arm}/{model}.parquet",
    log:
        "logs/{study}/predict_norms/{arm}/{model}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        scale=get_scale,
        thresholds=lambda wildcards: list(STUDY.thresholds_of(wildcards.model)),
        people=lambda wildcards: STUDY.arms[wildcards.arm].rated,
        code=code_of("predict_norms"),
    script:
        "../scripts/predict_norms.py"


rule list_norms:
    input:
        unpack(get_entry_inputs),
    output:
        parquet="results/{study}/norms.parquet",
        csv="results/{study}/norms.csv",
    log:
        "logs/{study}/list_norms.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        entry=get_entry_settings,
        code=code_of("list_norms", "cinorms.analyses.flow_norms"),
    script:
        "../scripts/list_norms.py"


rule make_table:
    input:
        unpack(get_entry_inputs),
    output:
        parquet="results/{study}/tables/{analysis}.parquet",
        csv=report(
            "results/{study}/tables/{analysis}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{analysis}"},
        ),
    log:
        "logs/{study}/make_table/{analysis}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        entry=get_entry_settings,
        code=code_of_entry("make_table"),
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
    params:
        entry=get_entry_settings,
        code=code_of_entry("print_table"),
    script:
        "../scripts/print_table.py"


rule draw_figure:
    input:
        unpack(get_entry_inputs),
    output:
        pdf="results/{study}/figures/{figure}.pdf",
        png=report(
            "results/{study}/figures/{figure}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        svg="results/{study}/figures/{figure}.svg",
        caption="results/{study}/figures/{figure}.txt",
        data="results/{study}/figures/{figure}.csv",
    log:
        "logs/{study}/draw_figure/{figure}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        entry=get_entry_settings,
        code=code_of_entry("draw_figure"),
    script:
        "../scripts/draw_figure.py"
