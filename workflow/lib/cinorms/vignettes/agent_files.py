"""Flows with what an agent saw before it acts: files in the layout of PrivacyLens, or of the tasks of CI-RL.

A trajectory is text: the instruction and the tools, and then the steps, each of which begins with a line ``Action: ``.
Next to it are the items that the action should not disclose, and those that the task needs.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cinorms.core.errors import ConfigError, DataError, listing

if TYPE_CHECKING:  # what asks models reads flows, and has no package for datasets
    from cinorms.vignettes.designs import Dataset

#: Where a step of a trajectory begins.
_STEP = re.compile(r"^(?=Action: )", re.MULTILINE)

#: The line before the sensitive items of a scene, each of which has a line of its own.
SENSITIVE = "Sensitive items:"


def steps_of(trajectory: str) -> tuple[str, list[str]]:
    """Return the text before the first step of a trajectory, and its steps."""
    head, *steps = _STEP.split(trajectory)
    return head.strip(), [step.strip() for step in steps]


def read_records(path: Path, dataset: "Dataset") -> pd.DataFrame:
    """Return the flows in the file of ``dataset`` with factors, text, and for trajectories their items.

    Raises ``ConfigError`` for a form that the source does not have, ``DataError`` for a file or record that is not laid
    out so.
    """
    columns, forms = dataset.columns, _FORMS[dataset.source]
    assert columns is not None, "a dataset of these sources has columns"
    if columns.vignette not in forms:
        raise ConfigError(
            f"{dataset.path}: columns.vignette: {columns.vignette!r} is no form of source {dataset.source!r}; "
            f"{listing(columns.vignette, forms)}"
        )
    listed = _listed(path)
    if dataset.numbers is not None:
        by_name = {str(fields.get("name")): fields for fields in listed}
        if absent := [name for name in dataset.numbers if name not in by_name]:
            raise DataError(
                f"{path}: has no record named {absent[0]!r}, which 'numbers' of {dataset.path} lists"
            )
        listed = [by_name[name] for name in dataset.numbers]
    records = [_Record(path, number, fields) for number, fields in enumerate(listed)]
    frame = pd.DataFrame(index=range(len(records)))
    for name, keys in columns.factors.items():
        values = [str(record.value(keys)).strip() for record in records]
        frame[name] = pd.Categorical(values, categories=pd.Index(list(dict.fromkeys(values)), dtype="str"))
    frame["vignette"] = pd.array(list(map(forms[columns.vignette], records)), dtype="str")
    frame["expected"] = np.nan
    if columns.vignette == "trajectory":
        items = map(_ITEMS[dataset.source], records)
        frame["items"] = pd.array([json.dumps(of_flow, ensure_ascii=False) for of_flow in items], dtype="str")
    if dataset.numbers is not None:
        frame.insert(0, "flow", np.array(list(dataset.numbers.values()), dtype=np.int32))
        frame = frame.sort_values("flow", ignore_index=True)
    return frame


def items_of(vignettes: pd.DataFrame) -> dict[int, dict[str, list[str]]]:
    """Return the sensitive and the needed items of each flow."""
    return {
        flow: json.loads(items) for flow, items in zip(vignettes["flow"], vignettes["items"], strict=True)
    }


def scenes_of(vignettes: pd.DataFrame) -> list[str]:
    """Return what a second reader of actions needs to know of each flow: the instruction, and the sensitive items."""
    items = items_of(vignettes)
    return [
        "\n- ".join(
            [f"{steps_of(text)[0]}\n\n{SENSITIVE}", *(" ".join(i.split()) for i in items[flow]["sensitive"])]
        )
        for flow, text in zip(vignettes["flow"], vignettes["vignette"], strict=True)
    ]


def _listed(path: Path) -> list[Mapping[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as JSON in UTF-8: {error}") from None
    if not isinstance(document, list) or not all(isinstance(record, dict) for record in document):
        raise DataError(f"{path}: expected a list of records, each in braces")
    return document


@dataclass(frozen=True)
class _Record:
    """A record of the file at ``path``; what is missing is named with the record's number, from 0."""

    path: Path
    number: int
    fields: Mapping[str, Any]

    def value(self, keys: str, default: Any = None) -> Any:
        """Return what the ``keys``, joined by dots, lead to; without a ``default`` it has to be there."""
        value: Any = self.fields
        for key in keys.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is None and default is None:
            raise self.error(f"there is no '{keys}'")
        return default if value is None else value

    def words(self, group: str, *keys: str) -> list[str]:
        """Return the values of ``keys`` below ``group`` as texts without spaces around them."""
        return [str(self.value(f"{group}.{key}")).strip() for key in keys]

    def texts(self, keys: str, default: Any = None) -> list[str]:
        """Return the texts that the ``keys`` lead to, in a list or under names; blank ones are refused."""
        value = self.value(keys, default)
        if not isinstance(value, (list, dict)):
            raise self.error(f"'{keys}' is {value!r}; expected a list of texts")
        texts = [as_text(item) for item in (value.values() if isinstance(value, dict) else value)]
        if blank := [number for number, text in enumerate(texts) if not re.search(r"[^\W_]", text)]:
            raise self.error(f"item {blank[0]} of '{keys}' has no words; remove it")
        return texts

    def error(self, what: str) -> DataError:
        """Return the message that says ``what`` is wrong with the record."""
        return DataError(f"{self.path}: record {self.number}: {what}")


def as_text(value: Any) -> str:
    """Return a value of a record as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _sentence(record: _Record) -> str:
    keys = ("data_sender", "data_type", "data_subject", "data_recipient", "transmission_principle")
    sender, data, subject, recipient, how = (word.rstrip(".") for word in record.words("seed", *keys))
    # Without a final period, as all vignettes: templates go on after it.
    return f"{sender[:1].upper()}{sender[1:]} shares {data} about {subject} with {recipient} ({how})"


def _trajectory(record: _Record) -> str:
    name, instruction, seen = record.words(
        "trajectory", "user_name", "user_instruction", "executable_trajectory"
    )
    tools = ", ".join(record.texts("trajectory.toolkits"))
    last = record.value("trajectory.final_action")
    head = f"Instruction of the user, {name}: {instruction}\nTools: {tools}. The action to write is {last}."
    if not _STEP.search(seen):
        raise record.error("'trajectory.executable_trajectory' has no line that begins with 'Action: '")
    return f"{head}\n\n{seen}"


def _task(record: _Record) -> str:
    (task,) = record.words("dataset_item", "user_task")
    notes = record.value("dataset_item.information")
    if not isinstance(notes, dict):
        raise record.error(f"'dataset_item.information' is {notes!r}; expected notes by name")
    how = str(record.value("seed.scenario"))
    tool = {"email": "SendEmail", "chat messages": "SendMessage"}.get(how, "Send")
    seen = (
        f"Action: ReadNote\nAction Input: {json.dumps({'about': about}, ensure_ascii=False)}\n"
        f"Observation: {as_text(value)}"
        for about, value in notes.items()
    )
    head = f"Instruction of the user: {task}\nTools: ReadNote, {tool}. The action to write is {tool}."
    return "\n\n".join([head, *seen])


def _task_sentence(record: _Record) -> str:
    subject, recipient, why = record.words("seed", "data_subject", "recipient", "user_intention")
    withheld = ", ".join(record.texts("seed.information_type.disallowed"))
    return f"An assistant shares {withheld} of {subject} with {recipient} ({why})"


_FORMS: dict[str, dict[str, Callable[[_Record], str]]] = {
    "privacylens": {
        "sentence": _sentence,
        "story": lambda record: str(record.value("vignette.story")),
        "trajectory": _trajectory,
    },
    "ci_rl": {"sentence": _task_sentence, "trajectory": _task},
}
#: The sources of datasets that are read here.
SOURCES = tuple(_FORMS)
_ITEMS: dict[str, Callable[[_Record], dict[str, list[str]]]] = {
    "privacylens": lambda record: {
        "sensitive": record.texts("trajectory.sensitive_info_items"),
        "needed": record.texts("trajectory.needed_info_items", []),
    },
    "ci_rl": lambda record: {
        "sensitive": record.texts("dataset_item.annotation.disallowed", []),
        "needed": record.texts("dataset_item.annotation.allowed", []),
    },
}
