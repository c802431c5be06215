"""Inference: one job asks one shard of a model in an arm; the engine is loaded once per job.

Inputs: vignettes, prompts
Outputs: results/{study}/responses/{arm}/{model}/{shard}.parquet,
         results/{study}/planted/{arm}/{model}.{parquet,json} (what was planted, for planted models),
         results/{study}/checkpoints/{model}.json (which checkpoint a model is, where one is fetched),
         results/{study}/provenance.json (what every response was made with)

An engine (`cinorms/inference/engines`) declares what its jobs need and how they are asked; the rule of each,
`ask_{engine}`, follows from that. `spec` is one value that holds everything which can change a response and nothing
else: changing anything beside it asks no model again. The journal (.journal/ beside the responses) is declared by no
rule: Snakemake must not remove what was paid for.
"""


def define_ask(kind):
    """Define the rule that asks the models of one engine. A function, because a job evaluates its command when it runs: in a plain loop all rules would then have the last engine's."""

    rule:
        name:
            f"ask_{kind.name}"
        input:
            **get_checkpoint_input(kind),
            vignettes=get_vignettes,
            variants="results/{study}/prompts/{arm}.parquet",
        output:
            responses="results/{study}/responses/{arm}/{model}/{shard}.parquet",
        log:
            f"logs/{{study}}/ask_{kind.name}/{{arm}}/{{model}}/{{shard}}.log",
        benchmark:
            f"logs/{{study}}/ask_{kind.name}/{{arm}}/{{model}}/{{shard}}.benchmark.tsv"
        wildcard_constraints:
            arm=ASKED_ARMS,
            model=get_pattern(asked_by(kind)),
        conda:
            f"../../envs/{kind.environment}.yaml"
        resources:
            **get_needs(kind),
        params:
            **get_tuning_param(kind),
            python=get_python_in(kind.virtual_environment),
            spec=get_spec,
        shell:
            get_ask_command(kind)


for kind in engine_kinds():
    define_ask(kind)


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
    output:
        provenance="results/{study}/provenance.json",
    log:
        "logs/{study}/gather_provenance.log",
    conda:
        "../../envs/core.yaml"
    params:
        asked=get_asked,
        spending=spending_folder(RESPONSES),
        code=code_of("gather_provenance"),
    script:
        "../scripts/gather_provenance.py"
