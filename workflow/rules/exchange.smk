"""Exchange: prompts for another tool, and the responses that it collected.

Inputs: vignettes, prompts, files of another tool
Outputs: results/{study}/exported/{format}/{arm}/ (prompts in a tool's format; only `make export-prompts` asks for them),
         results/{study}/responses/{arm}/{model}/{1-of-1.parquet,unmatched.csv} of arms with `source: responses`
"""


rule import_responses:
    input:
        files=get_response_files,
        converted=get_converted,
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}/{shard}.parquet",
        unmatched="results/{study}/responses/{arm}/{model}/unmatched.{shard}.csv",
    log:
        "logs/{study}/import_responses/{arm}/{model}/{shard}.log",
    benchmark:
        "logs/{study}/import_responses/{arm}/{model}/{shard}.benchmark.tsv"
    wildcard_constraints:
        arm=get_pattern(STUDY.arms_from("responses")),
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        arm=get_arm,
        spec=get_whole_spec,
        key_variables=get_key_variables,
        code=code_of("import_responses", *format_modules().values()),
    script:
        "../scripts/import_responses.py"


rule export_prompts:
    input:
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        folder=directory("results/{study}/exported/{format}/{arm}"),
    log:
        "logs/{study}/export_prompts/{format}/{arm}.log",
    wildcard_constraints:
        arm=get_pattern(EXPORTED_ARMS),
        format=get_pattern(each.name for each in written_formats()),
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=3000,
        runtime=20,
    params:
        specs=get_specs,
        code=code_of("export_prompts", *format_modules().values()),
    script:
        "../scripts/export_prompts.py"
