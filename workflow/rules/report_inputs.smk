# Input and parameter functions of the report's rules.
import shlex

from cinorms.report.description import describe, describe_for_card

REPORT_TEMPLATES = LIBRARY / "cinorms" / "report" / "templates"


def get_described(wildcards):
    """Return everything that the page says of the study beside its results."""
    return describe(STUDY)


def get_described_for_card(wildcards):
    """Return everything that a model's card says of the study beside its results."""
    return describe_for_card(STUDY, wildcards.model)


def get_command(wildcards, output):
    """Return the command that makes a file of this study anew. Taking `output` keeps another path from
    running the job again."""
    given = workflow.config_settings
    default = ROOT.folder / "config" / "config.yaml"
    files = [
        os.path.relpath(file)
        for file in given.configfiles
        if Path(file).resolve() != default.resolve()
    ]
    parts = ["snakemake --cores all"]
    parts += [f"--configfile {shlex.join(files)}"] if files else []
    config = [f"{name}={value}" for name, value in given.config.items()]
    parts += [f"--config {shlex.join(config)}"] if config else []
    return " ".join([*parts, "--force --"])


def get_assessed(stage, models=STUDY.all_models()):
    """Return the files of one stage of `models`, in all arms."""
    return [
        f"{RESULTS}/{stage}/{arm}/{model}.parquet"
        for arm in STUDY.arms
        for model in STUDY.models(arm)
        if model in models
    ]


def get_norms_of(wildcards):
    """Return a model's norms in all its arms."""
    return get_assessed("norms", [wildcards.model])


def get_answers_of(wildcards):
    """Return a model's answers in all its arms."""
    return get_assessed("answers", [wildcards.model])
