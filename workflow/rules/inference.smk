"""Inference: what goes before and after the jobs that ask: checkpoints, what was planted, provenance.

Inputs: vignettes, responses
Outputs: results/{study}/planted/{arm}/{model}.{parquet,json} (what was planted, for planted models),
         results/{study}/checkpoints/{model}.json (which checkpoint a model is, where one is fetched),
         results/{study}/provenance.json (what every response was made with)

The jobs that ask are defined in ask.smk. The journal (.journal/ beside the responses) is declared by no rule: Snakemake
must not remove what was paid for.
"""


def define_fetch(kind):
    """Define `fetch_checkpoint_{engine}`: the environment of an engine fetches what it loads."""

    rule:
        name:
            f"fetch_checkpoint_{kind.name}"
        input:
            made=get_checkpoint_files,
        output:
            record="results/{study}/checkpoints/{model}.json",
        log:
            "logs/{study}/fetch_checkpoint/{model}.log",
        wildcard_constraints:
            model=get_pattern(asked_by(kind)),
        localrule: True
        conda:
            get_env(kind.environment)
        params:
            python=get_python_in(kind.virtual_environment),
            checkpoint=get_checkpoint,
        shell:
            get_fetch_command()


for kind in engine_kinds():
    if kind.checkpoint:
        define_fetch(kind)


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
    localrule: True
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
    output:
        provenance="results/{study}/provenance.json",
    log:
        "logs/{study}/gather_provenance.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=get_asked,
        spending=spending_folder(placed(RESPONSES)),
        code=code_of("gather_provenance"),
    script:
        "../scripts/gather_provenance.py"
