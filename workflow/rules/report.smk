"""Report: one page for people who will not run Python; and the plan, before anything is spent.

Inputs: every figure and table of the study; for the plan: vignettes and prompts
Outputs: results/{study}/report/index.html, results/{study}/plan.csv
"""


rule write_report:
    input:
        figures=FIGURES,
        tables=TABLES,
        previews=collect(
            f"{RESULTS}/prompts/{{arm}}.preview.csv", arm=STUDY.arms_from("model")
        ),
        planted=PLANTED,
    output:
        page="results/{study}/report/index.html",
    log:
        "logs/{study}/write_report.log",
    conda:
        "../../envs/core.yaml"
    params:
        settings=STUDY.settings,
        planted=STUDY.is_planted(),
        code=code_digest("report"),
    script:
        "../scripts/write_report.py"


rule plan:
    input:
        vignettes=collect(
            f"{RESULTS}/vignettes/{{dataset}}.parquet", dataset=STUDY.datasets()
        ),
        variants=[get_planned_variants(arm) for arm in STUDY.arms],
    output:
        plan=f"{RESULTS}/plan.csv",
    log:
        f"logs/{STUDY.name}/plan.log",
    conda:
        "../../envs/core.yaml"
    params:
        asked=STUDY.asked(),
        vignettes={d: f"{RESULTS}/vignettes/{d}.parquet" for d in STUDY.datasets()},
        variants={arm: get_planned_variants(arm) for arm in STUDY.arms},
        code=code_digest("plan", "prompts"),
    script:
        "../scripts/plan.py"
