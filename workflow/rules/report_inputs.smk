# Input and parameter functions of the report's rules.
import shlex

from cinorms.report.description import describe, describe_for_card
from cinorms.report.dictionary import described_files
from cinorms.report.people_facts import people_page_facts, tables_of
from cinorms.report.results import card_inputs_of, page_inputs_of

REPORT_TEMPLATES = LIBRARY / "cinorms" / "report" / "templates"


def get_described(wildcards):
    """Return everything that the page shows about the study in addition to its results."""
    return describe(STUDY)


def get_described_for_card(wildcards):
    """Return everything that a model's card shows about the study in addition to its results."""
    return describe_for_card(STUDY, wildcards.model)


def get_described_files(wildcards):
    """Return the tables and figures whose columns the study's dictionary describes."""
    return [f"{RESULTS}/{name}" for name in described_files(describe(STUDY))]


def get_command(wildcards, output):
    """Return the command that rebuilds a file of this study. Taking `output` keeps another path from
    running the job again."""
    given = workflow.config_settings
    default = PROJECT / "config" / "config.yaml"
    files = [
        os.path.relpath(file)
        for file in given.configfiles
        if Path(file).resolve() != default.resolve()
    ]
    snakefile = os.path.relpath(workflow.main_snakefile)
    parts = ["snakemake --cores all"]
    if snakefile not in ("Snakefile", "workflow/Snakefile"):
        parts.append(f"--snakefile {shlex.quote(snakefile)}")
    parts += [f"--configfile {shlex.join(files)}"] if files else []
    config = [f"{name}={value}" for name, value in given.config.items()]
    parts += [f"--config {shlex.join(config)}"] if config else []
    return " ".join([*parts, "--force --"])


def get_card_inputs(wildcards):
    """Return what a model's card is made from, by name."""
    return card_inputs_of(get_described_for_card(wildcards), RESULTS)


def get_page_inputs(wildcards):
    """Return what the page is made from, by name."""
    return page_inputs_of(get_described(wildcards), RESULTS)


def get_people_facts(wildcards=None):
    """Return what the page on people says about the study."""
    return people_page_facts(STUDY)
