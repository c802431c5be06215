"""People: the page on people and models, for readers who do not use Python.

Inputs: the tables of the study's analyses of kind people_distances and people_flows, the vignettes of the compared models
Outputs: results/{study}/people/index.html
"""


rule write_people_page:
    input:
        tables=[
            f"{RESULTS}/tables/{name}.parquet"
            for name in tables_of(STUDY.settings.analyses)
        ],
        vignettes=[
            f"{RESULTS}/vignettes/{dataset}.parquet"
            for dataset in get_people_facts()["datasets"]
        ],
        template=str(REPORT_TEMPLATES / "people.html"),
    output:
        page=report(
            "results/{study}/people/index.html",
            caption="../report/people.rst",
            category="Report",
            labels={"page": "people and models"},
        ),
    log:
        "logs/{study}/write_people_page.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        asked=get_people_facts,
        code=code_of("write_people_page"),
    script:
        "../scripts/write_people_page.py"
