# Input and parameter functions of the rules that exchange prompts and responses with other tools.
from glob import glob

from cinorms.exchange.registry import (
    format_modules,
    format_named,
    formats,
    written_formats,
)

# What is asked here or elsewhere can be exported: answers of other sources exist already.
EXPORTED_ARMS = STUDY.arms_from("model", "responses")
CONVERTED = "results/{study}/responses/{arm}/{model}/received.jsonl"


def get_response_files(wildcards):
    """Return the files of another tool with the responses of a model in an arm."""
    pattern = local(STUDY.response_files(wildcards.arm, wildcards.model))
    # Without any, the pattern itself: Snakemake then names it as missing.
    return sorted(glob(pattern)) or [pattern]


def get_converted(wildcards):
    """Return what the converter of the format makes of these files, for a format that has one."""
    converter = format_named(STUDY.arms[wildcards.arm].response_format).converter
    return [CONVERTED.format(**wildcards)] if converter else []


def get_arms_in(format_name):
    """Return the pattern of the arms whose responses come in a format."""
    return get_pattern(
        arm
        for arm in STUDY.arms_from("responses")
        if STUDY.arms[arm].response_format == format_name
    )


def get_specs(wildcards):
    """Return the spec of each model of an arm, as if it were asked in one shard."""
    return [
        make_spec(STUDY, wildcards.arm, model, "1-of-1").as_plain()
        for model in STUDY.models(wildcards.arm)
    ]


def get_unmatched():
    """Return the files that list responses without a prompt or prompts without a response, where there are any."""
    files = [
        f"{RESPONSES}/{arm}/{model}/unmatched.{shard}.csv"
        for arm in STUDY.arms_from("responses")
        for model in STUDY.models(arm)
        for shard in shards_of(STUDY, arm, model)
    ]
    # More than a header.
    return [
        file
        for file in files
        if Path(file).exists() and len(Path(file).read_bytes().splitlines()) > 1
    ]


def get_received_files(wildcards):
    """Return every file of responses that another tool collected."""
    return [each["responses"] for each in get_received(wildcards, placed_too=False)]


def get_received(wildcards, placed_too=True):
    """Return which responses another tool collected: arm, model and file."""
    return [
        {
            "arm": arm,
            "model": model,
            "responses": placed(path) if placed_too else path,
        }
        for arm in STUDY.arms_from("responses")
        for model in STUDY.models(arm)
        for path in get_shards(arm, model)
    ]
