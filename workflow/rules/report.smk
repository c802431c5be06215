"""Report: one page for people who do not use Python, one on people and models, a card per model; and the plan."""


rule write_cards:
    input:
        unpack(lambda wildcards: card_inputs_of(metadata_for_cards(get_metadata()), RESULTS)),
        template=str(LIBRARY / "cinorms" / "report" / "templates" / "card.md"),
    output:
        text=report(
            [f"results/{{study}}/cards/{model}.md" for model in STUDY.all_models()],
            caption="../report/card.rst",
            category="Norm cards",
        ),
        data=[f"results/{{study}}/cards/{model}.json" for model in STUDY.all_models()],
    log:
        "logs/{study}/write_cards.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        study=lambda wildcards: metadata_for_cards(get_metadata()).plain(),
        code=code_of("write_cards"),
    script:
        "../scripts/write_cards.py"


rule write_report:
    input:
        unpack(lambda wildcards: page_inputs_of(get_metadata(), RESULTS)),
        previews=[f"{RESULTS}/prompts/{arm}.preview.csv" for arm in EXPORTED],
        planted=in_arms("planted", ASKED, STUDY.planted(), "json"),
        templates=get_page_templates("report", "report*", "appendix.*"),
    output:
        page=report(
            "results/{study}/report/index.html",
            caption="../report/page.rst",
            category="Report",
            labels={"page": "the report"},
        ),
        appendix=report(
            "results/{study}/report/appendix.html",
            caption="../report/page.rst",
            category="Report",
            labels={"page": "its appendix: all figures and tables"},
        ),
    log:
        "logs/{study}/write_report.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        study=lambda wildcards: get_metadata().plain(),
        # Not recorded: another path of the project makes no page again.
        command=lambda wildcards, output: rebuild_command(RUN, PROJECT),
        code=code_of("write_report"),
    script:
        "../scripts/write_report.py"


rule write_replies:
    input:
        responses="results/{study}/responses/{arm}/{model}.parquet",
        answers="results/{study}/answers/{arm}/{model}.parquet",
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        replies=directory("results/{study}/report/replies/{arm}/{model}"),
    log:
        "logs/{study}/write_replies/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(READ),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        scale=get_scale,
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
        study=lambda wildcards: get_metadata().plain(),
        code=code_of("describe_study"),
    script:
        "../scripts/describe_study.py"


rule describe_tables:
    input:
        files=lambda wildcards: [f"{RESULTS}/{name}" for name in described_files(get_metadata())],
    output:
        parquet="results/{study}/dictionary.parquet",
        csv="results/{study}/dictionary.csv",
    log:
        "logs/{study}/describe_tables.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        study=lambda wildcards: get_metadata().plain(),
        code=code_of("describe_tables"),
    script:
        "../scripts/describe_tables.py"


rule plan:
    input:
        vignettes=[f"{RESULTS}/vignettes/{name}.parquet" for name in STUDY.datasets()],
        variants=list(map(get_planned_variants, STUDY.worded_arms())),
    output:
        plan=f"{RESULTS}/plan.csv",
    log:
        f"logs/{STUDY.name}/plan.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=lambda wildcards: STUDY.asked(),
        judge=lambda wildcards: STUDY.judge(),
        datasets=STUDY.datasets(),
        arms=STUDY.worded_arms(),
        # Answers that exist, and no input: the plan of a study never makes its answers.
        pilot=STUDY.settings.plan.pilot or STUDY.name,
        target_phi=STUDY.settings.plan.target_phi,
        warnings=lambda wildcards: plan_warnings(STUDY),
        # Not recorded: what is left makes no new plan.
        left=lambda wildcards, output: summary(left_to_ask(STUDY)),
        code=code_of("plan", *engine_modules().values()),
    script:
        "../scripts/plan.py"


rule write_people_page:
    input:
        unpack(lambda wildcards: people_inputs_of(STUDY, RESULTS)),
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
        asked=lambda wildcards: people_page_metadata(STUDY),
        code=code_of("write_people_page"),
    script:
        "../scripts/write_people_page.py"
