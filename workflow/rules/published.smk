"""Published: an arm with existing answers takes them from their files instead of asking models.

Inputs: vignettes, prompts, and the files that a release (resources/published) names, fetched once; or the authors'
        raw CSV files of responses
Outputs: results/{study}/answers/{arm}/{model}.parquet of arms with `source: published`,
         results/{study}/responses/{arm}/{model}/1-of-1.parquet of arms with `source: raw_csv`
"""


rule import_published:
    input:
        unpack(get_release_files),
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        # One job for all models of an arm: they are in one file, which takes longer to read than to convert.
        answers=[
            f"results/{{study}}/answers/{{arm}}/{model}.parquet"
            for model in STUDY.published_models()
        ],
    log:
        "logs/{study}/import_published/{arm}.log",
    benchmark:
        "logs/{study}/import_published/{arm}.benchmark.tsv"
    wildcard_constraints:
        arm="|".join(STUDY.arms_from("published")) or "(?!)",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        arm=get_arm,
        models=STUDY.published_models(),
        code=code_of("import_published"),
    script:
        "../scripts/import_published.py"


rule import_raw_csv:
    input:
        raw=get_raw_file,
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}/{shard}.parquet",
    log:
        "logs/{study}/import_raw_csv/{arm}/{model}/{shard}.log",
    benchmark:
        "logs/{study}/import_raw_csv/{arm}/{model}/{shard}.benchmark.tsv"
    wildcard_constraints:
        arm="|".join(STUDY.arms_from("raw_csv")) or "(?!)",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_of("import_raw_csv"),
    script:
        "../scripts/import_raw_csv.py"
