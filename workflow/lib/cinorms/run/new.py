"""``cinorms new NAME``: the files of a new study, which can be checked at once and then edited."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from cinorms.core.errors import ConfigError
from cinorms.core.logs import command

FILES = {
    "study.yaml": """\
# The keys that a study can have: config/README.md. What is not stated here is as in config/config.yaml.
study: {name}
resources: [{folder}]              # where the dataset and the model are
models: [{model}]
arms:
  main: {{dataset: {name}, prompts: chatgpt}}
  # The same in fewer wordings and another temperature, to compare with:
  # warm: {{dataset: {name}, prompts: chatgpt, templates: 6, temperature: 0.7}}
""",
    "models.yaml": """\
# Models, as in config/models.yaml.
{model}:
  {entry}
  source: {source}
  family: {model}                  # groups models in tables that compare them
{further}""",
    "vignettes/{name}.yaml": """\
title: {title}
context: {context}
scale: acceptability
source: design
origin: {{citation: our own, licence: our own}}
# Every combination of levels is a flow. Edit the levels: information_type and recipient have two to begin with.
factors:
  subject: [a person]
  sender: ["{context}"]
  information_type: [the person's name, the person's health]
  recipient: [the person's family, an advertiser]
  transmission_principle: [if the person has agreed]
template: >-
  {{{{ sender }}}} shares {{{{ information_type }}}} with {{{{ recipient }}}} under the following condition:
  {{{{ transmission_principle }}}}
""",
}
#: Keys that only models behind an endpoint have.
FURTHER = {
    "endpoint": """\
  # key_variable: MY_KEY           # the environment variable that holds the key, if the endpoint wants one
  # limits: {concurrency: 16, requests_per_minute: 500, timeout: 120}
""",
    "checkpoint": "",
}
ENTRIES = {
    "endpoint": "engine: openai\n  base_url: {where}",
    "checkpoint": "engine: vllm\n  gpus: 1\n  capacity: 8                      # billions of parameters",
}


@command("Nothing was written.")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files of a new study; ask for what the arguments do not state."""
    options = argparse.ArgumentParser(prog="cinorms new", description="Write a new study to edit.")
    options.add_argument("name", help="of the study, and of its folder")
    options.add_argument("--context", help="who shares information: a public library")
    options.add_argument("--endpoint", help="with OpenAI's interface: http://127.0.0.1:8000/v1")
    options.add_argument("--checkpoint", help="that vLLM loads: ORGANISATION/MODEL on the hub, or a folder")
    options.add_argument("--model", help="the name by which the endpoint knows the model")
    stated = options.parse_args(arguments)
    if not re.fullmatch("[a-z][a-z0-9-]*", stated.name):
        raise ConfigError(
            f"name: {stated.name!r} is not allowed; use small letters, digits and '-', a letter first"
        )
    if stated.endpoint and stated.checkpoint:
        raise ConfigError("--endpoint and --checkpoint: both are stated; state the one that is asked")
    folder = Path(stated.name)
    if folder.exists():
        raise ConfigError(f"{folder} exists; choose another name, or edit its files")
    context = stated.context or _ask("--context", "Who shares information (a public library)?")
    where = stated.endpoint or stated.checkpoint
    where = where or _ask(
        "--endpoint or --checkpoint", "Endpoint (http...) or checkpoint (ORGANISATION/MODEL)?"
    )
    kind = "endpoint" if stated.endpoint or where.startswith("http") else "checkpoint"
    source = where
    if kind == "endpoint":
        source = stated.model or _ask("--model", "Name by which the endpoint knows the model?")
    model = re.sub("[^a-z0-9.]+", "-", source.rpartition("/")[2].lower()).strip("-.") or "model"
    facts = {"name": stated.name, "folder": folder, "model": model, "source": source, "context": context}
    facts |= {"title": context.capitalize(), "entry": ENTRIES[kind].format(where=where)}
    facts["further"] = FURTHER[kind]
    for name, text in FILES.items():
        path = folder / name.format(**facts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**facts), encoding="utf-8")
        print(path)
    print(f"Edit the levels in {path}; then: make check CONFIG={folder}/study.yaml")
    return 0


def _ask(option: str, question: str) -> str:
    if not sys.stdin.isatty():
        raise ConfigError(f"{option} is missing; state it, or start this in a terminal")
    return input(f"{question} ").strip()


if __name__ == "__main__":
    sys.exit(main())
