"""Inference: the steps before and after the jobs that ask: what was planted, provenance.

Inputs: vignettes, responses
Outputs: results/{study}/planted/{arm}/{model}.{parquet,json} (what was planted, for planted models),
         results/{study}/provenance.json (what every response was made with)

The jobs that ask are defined in ask.smk. The journal (results/.journal, which all studies share) is declared by no rule:
Snakemake must not remove what was paid for.
"""


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
        model=get_pattern(STUDY.planted()),
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
        coded=CODER_REPLIES,
        received=get_received_files,
    output:
        provenance="results/{study}/provenance.json",
    log:
        "logs/{study}/gather_provenance.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=get_asked,
        coded=get_coded,
        received=get_received,
        spending=spending_folder(placed(RESPONSES)),
        code=code_of("gather_provenance"),
    script:
        "../scripts/gather_provenance.py"
