"""Report: one page for people who do not use Python, one on people and models, a card per model; and the plan."""


rule write_card:
    input:
        unpack(of(VALUES.card_inputs)),
        template=str(LIBRARY / "cinorms" / "report" / "templates" / "card.md"),
    output:
        text=report(
            "results/{study}/cards/{model}.md",
            caption="../report/card.rst",
            category="Norm cards",
            labels={"model": "{model}", "file": "for people"},
        ),
        data="results/{study}/cards/{model}.json",
    log:
        "logs/{study}/write_card/{model}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        study=of(VALUES.card_facts),
        code=code_of("write_card"),
    script:
        "../scripts/write_card.py"


rule write_report:
    input:
        unpack(of(VALUES.page_inputs)),
        previews=collect(
            f"{RESULTS}/prompts/{{arm}}.preview.csv",
            arm=STUDY.arms_from("model", "responses"),
        ),
        planted=VALUES.planted_facts(),
        templates=get_page_templates("report", "report*"),
    output:
        page=report(
            "results/{study}/report/index.html",
            caption="../report/page.rst",
            category="Report",
            labels={"page": "the whole report"},
        ),
    log:
        "logs/{study}/write_report.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        study=of(VALUES.facts),
        command=get_command,
        code=code_of("write_report"),
    script:
        "../scripts/write_report.py"


rule write_replies:
    input:
        responses=of(VALUES.responses),
        answers="results/{study}/answers/{arm}/{model}.parquet",
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        replies=directory("results/{study}/report/replies/{arm}/{model}"),
    log:
        "logs/{study}/write_replies/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(STUDY.arms_from(*READ_HERE)),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        scale=of(VALUES.scale),
        code=code_of("write_replies"),
    script:
        "../scripts/write_replies.py"


rule describe_study:
    output:
        study="results/{study}/study.json",
    log:
        "logs/{study}/describe_study.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        study=of(VALUES.facts),
        code=code_of("describe_study"),
    script:
        "../scripts/describe_study.py"


rule describe_tables:
    input:
        files=of(VALUES.described_files),
    output:
        dictionary="results/{study}/dictionary.csv",
    log:
        "logs/{study}/describe_tables.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        study=of(VALUES.facts),
        code=code_of("describe_tables"),
    script:
        "../scripts/describe_tables.py"


rule plan:
    input:
        vignettes=collect(
            f"{RESULTS}/vignettes/{{dataset}}.parquet", dataset=STUDY.datasets()
        ),
        variants=list(map(VALUES.planned_prompts, STUDY.worded_arms())),
    output:
        plan=f"{RESULTS}/plan.csv",
    log:
        f"logs/{STUDY.name}/plan.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=STUDY.asked(),
        judge=STUDY.judge(),
        datasets=STUDY.datasets(),
        arms=STUDY.worded_arms(),
        # No input: the plan of a study never makes its answers.
        pilot=VALUES.pilot(),
        target_phi=STUDY.settings.plan.target_phi,
        warnings=VALUES.plan_warnings(),
        left=get_left,
        code=code_of("plan", *engine_modules().values()),
    script:
        "../scripts/plan.py"


rule write_people_page:
    input:
        unpack(of(VALUES.people_inputs)),
        templates=get_page_templates("report", "people.*"),
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
    params:
        asked=of(VALUES.people_facts),
        code=code_of("write_people_page"),
    script:
        "../scripts/write_people_page.py"
