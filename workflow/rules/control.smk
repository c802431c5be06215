"""The control model: trained to hold planted norms, asked by the study config/control.yaml, and compared.

Inputs: norms and responses of the model `control` in every arm of the study control
Outputs: results/control/model/ (a checkpoint), results/control/training.json (how it was trained),
         results/control/control.csv (planted and recovered norms)
"""


rule train_control:
    input:
        dataset=ROOT.names("vignettes")["iot"],
        prompts=ROOT.names("prompts")["chatgpt"],
        norms=ROOT.names("planted")["control"],
    output:
        # The model's place in the registry: no prefix of a module moves it.
        weights=VALUES.control_weights,
        facts=local("results/control/training.json"),
    log:
        "logs/control/train_control.log",
    conda:
        "../../envs/vllm.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        python=get_python_in(".venv-vllm"),
        seed=CONTROL_SEED,
        code=code_digest("cinorms.control.train"),
    shell:
        "{params.python} -m cinorms.control.train --dataset {input.dataset:q} --prompts {input.prompts:q}"
        " --norms {input.norms:q} --seed {params.seed} --out results/control/model --facts {output.facts:q} --log {log:q}"


rule compare_control:
    input:
        vignettes=f"{RESULTS}/vignettes/iot.parquet",
        norms=[
            f"{RESULTS}/norms/{arm}/control.parquet" for arm in VALUES.control_arms()
        ],
        responses=[path for paths in VALUES.control_arms().values() for path in paths],
        training=rules.train_control.output.facts,
    output:
        table="results/control/control.csv",
    log:
        "logs/control/compare_control.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        planted=of(VALUES.control_norms),
        code=code_of("compare_control"),
    script:
        "../scripts/compare_control.py"
