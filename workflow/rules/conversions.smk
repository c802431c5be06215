"""Conversions: files that only the own package of another tool reads become lines of JSON.

Inputs: files of another tool
Outputs: results/{study}/responses/{arm}/{model}/received.jsonl
"""


def define_conversion(kind):
    """Define `convert_responses_{format}`, which runs in the environment of the tool."""

    rule:
        name:
            f"convert_responses_{kind.name}"
        input:
            files=get_response_files,
        output:
            converted=temp(CONVERTED),
        log:
            f"logs/{{study}}/convert_responses_{kind.name}/{{arm}}/{{model}}.log",
        wildcard_constraints:
            arm=get_arms_in(kind.name),
        localrule: True
        conda:
            get_env(kind.environment)
        resources:
            mem_mb=4000,
            runtime=30,
        params:
            python=get_python_in(kind.virtual_environment),
            converter=kind.converter,
            code=code_digest(kind.converter),
        shell:
            "{params.python} -m {params.converter} --out {output.converted:q} {input.files:q} >{log:q} 2>&1"


for each in formats():
    if each.converter:
        define_conversion(each)
