"""Figures: one for each entry of the study's `figures`, as PDF, PNG and SVG.

Inputs: answers or norms of the entry's arms and models, or a table; as its kind needs, vignettes, prompts, what was planted
Outputs: results/{study}/figures/{figure}.{pdf,png,svg,txt,csv}
"""


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
    benchmark:
        "logs/{study}/draw_figure/{figure}.benchmark.tsv"
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
        "../scripts/draw_figure.py"
