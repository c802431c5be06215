"""The benchmark's prompts as a task of Inspect: ``inspect eval inspect_task.py -T file=prompts.jsonl``."""

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.solver import generate


@task
def norms(file: str) -> Task:
    """Ask every prompt once."""
    return Task(json_dataset(file, FieldSpec(input="prompt", id="id")), solver=[generate()])
