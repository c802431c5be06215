"""Publish: the results of a study as a folder for an archive; only `make publish` asks for it.

Inputs: norms, dictionary, study.json, provenance, tables, answers and responses of the whole study
Outputs: results/{study}/published/ (data, croissant.json, ro-crate-metadata.json, every_eval_ever/, DATASHEET.md, sources.csv)
"""


rule publish_study:
    input:
        norms=NORMS,
        dictionary=DICTIONARY,
        study=f"{RESULTS}/study.json",
        provenance=PROVENANCE,
        tables=TABLES,
        responses=[path for *_, path in VALUES.published("responses")],
        answers=[path for *_, path in VALUES.published("answers")],
        repeats=[path for *_, path in VALUES.published("repeats")],
        prompts=[f"{RESULTS}/prompts/{arm}.parquet" for arm in STUDY.arms],
        workflow=str(PROJECT / "workflow" / "Snakefile"),
    output:
        crate="results/{study}/published/ro-crate-metadata.json",
    log:
        "logs/{study}/publish_study.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=4000,
    params:
        sources=of(VALUES.sources),
        responses=VALUES.placed_published("responses"),
        answers=VALUES.placed_published("answers"),
        repeats=VALUES.placed_published("repeats"),
        prompts={
            arm: INSIDE.placed(f"{RESULTS}/prompts/{arm}.parquet")
            for arm in STUDY.arms
        },
        key_variables=unrecorded(VALUES.key_variables),
        code=code_of("publish_study"),
    script:
        "../scripts/publish_study.py"
