"""Gate: did a model's norms change against a base? The claims of a policy are judged on the answers of both (`gates`).

A gate that does not pass fails only the last step, so that everything else can be looked at.
"""


rule judge_gate:
    input:
        made=lambda wildcards: GATES[wildcards.gate].made,
        found=lambda wildcards: list(map(local, GATES[wildcards.gate].found)),
        templates=get_page_templates("gate", "gate.*"),
    output:
        json="results/{study}/gate/{gate}/gate.json",
        junit="results/{study}/gate/{gate}/junit.xml",
        page="results/{study}/gate/{gate}/index.html",
    log:
        "logs/{study}/judge_gate/{gate}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        sides=lambda wildcards: GATES[wildcards.gate].sides(),
        code=code_of("judge_gate"),
    script:
        "../scripts/judge_gate.py"


rule check_gate:
    input:
        json="results/{study}/gate/{gate}/gate.json",
        page="results/{study}/gate/{gate}/index.html",
    output:
        summary="results/{study}/gate/{gate}/passed.txt",
    log:
        "logs/{study}/check_gate/{gate}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        code=code_of("check_gate"),
    script:
        "../scripts/check_gate.py"
