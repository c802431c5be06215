"""Replication: the numbers that a paper prints, next to those of this study (`compare` in the study).

A number that does not match fails only the last step, so that everything else can be looked at.
"""


rule compare_numbers:
    input:
        tables=[
            f"{RESULTS}/tables/{name}.parquet" for name in compared_with(RELEASE) if name in STUDY.entries["analyses"]
        ],
        release=str(STUDY.root.names("published")[RELEASE.name]) if RELEASE else [],
        numbers=([str(RELEASE.path.parent / name) for name in RELEASE.numbers] if RELEASE else []),
        drawn=[f"{RESULTS}/figures/{name}.csv" for name in compared_with(RELEASE) if name in STUDY.entries["figures"]],
        images=[str(RELEASE.path.parent / image.file) for image in RELEASE.images.values()] if RELEASE else [],
        templates=get_page_templates("printed", "replication.*"),
    output:
        comparison="results/{study}/comparison.csv",
        images="results/{study}/images.csv",
        sentences="results/{study}/sentences.csv",
        page="results/{study}/index.html",
    log:
        "logs/{study}/compare_numbers.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        mark=STUDY.mark(STUDY.all_models()),
        models=STUDY.all_models(),
        figures=lambda wildcards: {name: each.title or name for name, each in STUDY.entries["figures"].items()},
        code=code_of("compare_numbers"),
    script:
        "../scripts/compare_numbers.py"


rule check_numbers:
    input:
        PRINTED,
        comparison=f"{RESULTS}/comparison.csv",
        images=f"{RESULTS}/images.csv",
        sentences=f"{RESULTS}/sentences.csv",
        page=f"{RESULTS}/index.html",
    output:
        summary=f"{RESULTS}/comparison.txt",
    log:
        f"logs/{STUDY.name}/check_numbers.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        code=code_of("check_numbers"),
    script:
        "../scripts/check_numbers.py"
