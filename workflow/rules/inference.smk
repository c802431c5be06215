"""Inference: one job asks one shard of a model in an arm; the engine is loaded once per job.

Inputs: vignettes, prompts
Outputs: results/{study}/responses/{arm}/{model}/{shard}.parquet,
         results/{study}/planted/{arm}/{model}.{parquet,json} (what was planted, for planted models),
         results/{study}/checkpoints/{model}.json (which checkpoint a model is, for vLLM),
         results/{study}/provenance.json (what every response was made with)

The three rules differ in where they run and what they need, not in what they do. Their `spec` is one value that
holds everything which can change a response and nothing else: changing anything beside it asks no model again.
The journal (.journal/ beside the responses) is declared by no rule: Snakemake must not remove what was paid for.
"""


rule ask_planted:
    input:
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}/{shard}.parquet",
    log:
        "logs/{study}/ask_planted/{arm}/{model}/{shard}.log",
    benchmark:
        "logs/{study}/ask_planted/{arm}/{model}/{shard}.benchmark.tsv"
    wildcard_constraints:
        arm=ASKED_ARMS,
        model=get_models_of("planted"),
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        python=get_python,
        spec=get_spec,
    shell:
        "{params.python} -m cinorms.ask --spec {params.spec:q} --vignettes {input.vignettes:q}"
        " --variants {input.variants:q} --out {output.responses:q} --log {log:q}"


rule fetch_checkpoint:
    input:
        made=get_checkpoint_files,
    output:
        record="results/{study}/checkpoints/{model}.json",
    log:
        "logs/{study}/fetch_checkpoint/{model}.log",
    wildcard_constraints:
        model=get_models_of("vllm"),
    localrule: True
    conda:
        "../../envs/vllm.yaml"
    params:
        python=get_vllm_python,
        checkpoint=get_checkpoint,
    shell:
        "{params.python} -m cinorms.inference.checkpoints --model {wildcards.model:q} --source {params.checkpoint[source]:q}"
        " --revision={params.checkpoint[revision]:q} --lock results/{wildcards.study}/.checkpoints/{wildcards.model}.json"
        " --out {output.record:q} --log {log:q}"


rule ask_vllm:
    input:
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
        checkpoint="results/{study}/checkpoints/{model}.json",
    output:
        responses="results/{study}/responses/{arm}/{model}/{shard}.parquet",
    log:
        "logs/{study}/ask_vllm/{arm}/{model}/{shard}.log",
    benchmark:
        "logs/{study}/ask_vllm/{arm}/{model}/{shard}.benchmark.tsv"
    wildcard_constraints:
        arm=ASKED_ARMS,
        model=get_models_of("vllm"),
    conda:
        "../../envs/vllm.yaml"
    resources:
        gpu=get_gpus,
        mem_mb=get_vllm_memory,
        runtime=get_vllm_minutes,
    params:
        python=get_vllm_python,
        spec=get_spec,
        tuning=get_tuning,
    shell:
        # The checkpoint is here already: compute nodes often have no internet.
        "HF_HUB_OFFLINE=1 {params.python} -m cinorms.ask --spec {params.spec:q} --tuning {params.tuning:q}"
        " --checkpoint {input.checkpoint:q} --vignettes {input.vignettes:q} --variants {input.variants:q}"
        " --out {output.responses:q} --log {log:q}"


rule ask_openai:
    input:
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}/{shard}.parquet",
    log:
        "logs/{study}/ask_openai/{arm}/{model}/{shard}.log",
    benchmark:
        "logs/{study}/ask_openai/{arm}/{model}/{shard}.benchmark.tsv"
    wildcard_constraints:
        arm=ASKED_ARMS,
        model=get_models_of("openai"),
    conda:
        "../../envs/openai.yaml"
    resources:
        mem_mb=2000,
        runtime=1440,
        api_jobs=1,  # --resources api_jobs=1: one job at a time, for an account with tight limits
    params:
        python=get_python,
        spec=get_spec,
        tuning=get_tuning,
    shell:
        "{params.python} -m cinorms.ask --spec {params.spec:q} --tuning {params.tuning:q}"
        " --vignettes {input.vignettes:q} --variants {input.variants:q} --out {output.responses:q} --log {log:q}"


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
        model=get_models_of("planted"),
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
        code=code_of("gather_provenance"),
    script:
        "../scripts/gather_provenance.py"
