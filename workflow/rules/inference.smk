"""Inference: what goes before and after the jobs that ask: checkpoints, what was planted, provenance.

Inputs: vignettes, responses
Outputs: results/{study}/planted/{arm}/{model}.{parquet,json} (what was planted, for planted models),
         results/{study}/checkpoints/{model}.json (which checkpoint a model is, where one is fetched),
         results/{study}/provenance.json (what every response was made with)

The jobs that ask are defined in ask.smk. The journal (.journal/ beside the responses) is declared by no rule: Snakemake
must not remove what was paid for.
"""


rule fetch_checkpoint:
    input:
        made=get_checkpoint_files,
    output:
        record="results/{study}/checkpoints/{model}.json",
    log:
        "logs/{study}/fetch_checkpoint/{model}.log",
    wildcard_constraints:
        model=get_pattern(get_checkpoints()),
    localrule: True
    conda:
        get_checkpoint_env
    params:
        python=get_checkpoint_python,
        checkpoint=get_checkpoint,
    shell:
        "{params.python} -m cinorms.inference.checkpoints --model {wildcards.model:q} --source {params.checkpoint[source]:q}"
        " --revision={params.checkpoint[revision]:q} --lock results/{wildcards.study}/.checkpoints/{wildcards.model}.json"
        " --out {output.record:q} --log {log:q}"


rule describe_planted:
    input:
        vignettes=get_vignettes,
    output:
        planted="results/{study}/planted/{arm}/{model}.parquet",
        coefficients="results/{study}/planted/{arm}/{model}.json",
    log:
        "logs/{study}/describe_planted/{arm}/{model}.log",
    wildcard_constraints:
        arm=ASKED_ARMS,
        model=get_pattern(get_planted()),
    conda:
        "../../envs/core.yaml"
    params:
        spec=get_whole_spec,
        code=code_of("describe_planted"),
    script:
        "../scripts/describe_planted.py"


rule gather_provenance:
    input:
        responses=get_asked_files,
        coded=CODER_REPLIES,
    output:
        provenance="results/{study}/provenance.json",
    log:
        "logs/{study}/gather_provenance.log",
    conda:
        "../../envs/core.yaml"
    params:
        asked=get_asked,
        coded=get_coded,
        spending=spending_folder(RESPONSES),
        code=code_of("gather_provenance"),
    script:
        "../scripts/gather_provenance.py"
