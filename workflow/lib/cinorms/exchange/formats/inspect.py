"""Inspect: a dataset and a task out; logs in, through Inspect's own package in its own environment."""

from collections.abc import Sequence
from pathlib import Path

from cinorms.core.files import replacing
from cinorms.exchange.formats import plain
from cinorms.exchange.registry import Format
from cinorms.exchange.way import Way

#: A task per way of asking, as Inspect finds them.
TASK_FILE = '''\
"""Prompts of a cinorms study. Run: inspect eval {file} --model MODEL --log-dir logs"""

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import generate
'''
TASK = '''

@task
def {task}() -> Task:
    """Ask every prompt once; the answers are read by cinorms."""
    return Task(
        dataset=json_dataset("{file}", FieldSpec(metadata=["prompt_sha256"])),
        solver=generate(),
        config=GenerateConfig({settings}),
    )
'''


def write(ways: Sequence[Way], arm: str, folder: Path) -> None:
    """Write a dataset per way, and one file with their tasks."""
    file = f"cinorms_{arm.replace('-', '_')}.py"
    tasks = []
    for way in ways:
        dataset = way.write(
            folder,
            lambda prompt, _: {"id": prompt.id, "input": prompt.messages, "prompt_sha256": prompt.sha256},
        )
        settings = {"temperature": way.spec.temperature, "max_tokens": way.spec.max_tokens}
        tasks.append(
            TASK.format(
                task=way.task(arm),
                file=dataset,
                settings=", ".join(
                    f"{name}={value}" for name, value in settings.items() if value is not None
                ),
            )
        )
    with replacing(folder / file) as part:
        part.write_text(TASK_FILE.format(file=file) + "".join(tasks), encoding="utf-8")


FORMAT = Format(
    name="inspect",
    about="Logs of Inspect (`.eval` or `.json`), read by its own package `inspect_ai`.",
    endings=(".eval", ".json"),
    read=plain.read,
    write=write,
    messages_only=True,
    command="run `inspect eval cinorms_*.py --model MODEL --log-dir logs`; import `logs/*.eval`",
    converter="cinorms.exchange.inspect_log",
    environment="inspect",
    virtual_environment=".venv-inspect",
)
