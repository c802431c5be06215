# Input and parameter functions of the rule that publishes a study.
from cinorms.publish.sources import sources_of


def get_members(table):
    """Return arm, model and file of every table of responses, of answers, or of repeats."""
    arms = {
        "responses": STUDY.arms_from(*READ_HERE),
        "answers": STUDY.arms,
        "repeats": STUDY.repeated_arms(),
    }
    return [
        (arm, model, path)
        for arm in arms[table]
        for model in STUDY.models(arm)
        for path in (
            get_shards(arm, model)
            if table == "responses"
            else [f"{RESULTS}/{table}/{arm}/{model}.parquet"]
        )
    ]


def get_placed_members(table):
    """Return what `get_members` does, as a parameter."""
    return [(arm, model, placed(path)) for arm, model, path in get_members(table)]


def get_workflow_file():
    """Return the workflow's entry."""
    return str(PROJECT / "workflow" / "Snakefile")


def get_sources(wildcards):
    """Return what the study is made from, with licences."""
    return sources_of(STUDY)
