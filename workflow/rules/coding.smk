"""Coding: a model reads the replies that no rule can read; a person checks a sample of its codes before they count.

Inputs: responses, vignettes, prompts; the sheet that a person filled in, where the study names it
Outputs: results/{study}/coding/{scale}/unread.parquet, prompts.parquet (what the coder is asked),
         results/{study}/coding/{scale}/1-of-1.parquet (what it replied),
         results/{study}/coding/agreement.csv, codes.parquet (how well it agrees with the person, and what counts)

to_code.csv, the sheet for the person, is declared by no rule: Snakemake would remove a person's work before it runs a
job again. Only a study with `answers: {coder: ...}` has these files.
"""


rule list_unread:
    input:
        get_coded_inputs,
        overrides=OVERRIDES,
    output:
        unread="results/{study}/coding/{scale}/unread.parquet",
        prompts="results/{study}/coding/{scale}/prompts.parquet",
    log:
        "logs/{study}/list_unread/{scale}.log",
    wildcard_constraints:
        scale="|".join(CODED_SCALES) or "(?!)",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=3000,
        runtime=20,
    params:
        files=get_coded_places,
        scale=get_coded_scale,
        levels=LEVELS_OF_STUDY,
        code=code_of("list_unread"),
    script:
        "../scripts/list_unread.py"


if CODER_KIND:

    rule ask_coder:
        input:
            **get_coder_checkpoint_input(CODER_KIND),
            vignettes="results/{study}/coding/{scale}/unread.parquet",
            variants="results/{study}/coding/{scale}/prompts.parquet",
        output:
            responses="results/{study}/coding/{scale}/1-of-1.parquet",
        log:
            "logs/{study}/ask_coder/{scale}.log",
        wildcard_constraints:
            scale="|".join(CODED_SCALES) or "(?!)",
        conda:
            get_env(CODER_KIND.environment)
        threads: CODER_KIND.needs.threads
        resources:
            **get_needs(CODER_KIND, get_coder_settings),
        params:
            tuning=get_coder_tuning,
            python=get_python_in(CODER_KIND.virtual_environment),
            spec=get_coder_spec,
        shell:
            get_ask_command(CODER_KIND)


rule judge_coder:
    input:
        unread=collect(f"{CODING}/{{scale}}/unread.parquet", scale=CODED_SCALES),
        prompts=collect(f"{CODING}/{{scale}}/prompts.parquet", scale=CODED_SCALES),
        replies=CODER_REPLIES,
        coded=CODED,
    output:
        codes="results/{study}/coding/codes.parquet",
        agreement="results/{study}/coding/agreement.csv",
    log:
        "logs/{study}/judge_coder.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        specs=get_coder_specs,
        coder=STUDY.coder,
        sample=STUDY.settings.answers.sample,
        needed=STUDY.settings.answers.agreement,
        seed=STUDY.seed,
        sheet=placed(f"{CODING}/to_code.csv"),
        code=code_of("judge_coder"),
    script:
        "../scripts/judge_coder.py"
