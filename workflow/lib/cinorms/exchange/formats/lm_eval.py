"""lm-evaluation-harness: a task with its documents out; the samples that it logs in."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cinorms.core.files import replacing
from cinorms.exchange.registry import Format, Received, broken, chat_text, json_lines, named_by
from cinorms.exchange.way import Prompt, Way

#: A task. ``system`` and ``user`` are fields of a document: named as such, they are used exactly as they are.
TASK = """\
# Prompts of a cinorms study. Run in this folder:
#   lm_eval run --model MODEL --model_args ... --tasks {task} --include_path . --log_samples --output_path out{chat}
task: {task}
dataset_path: json
dataset_kwargs:
  data_files: {{test: {file}}}
test_split: test
output_type: generate_until
description: system
doc_to_text: user
doc_to_target: id
target_delimiter: ""
num_fewshot: 0
generation_kwargs:
  until: []
  max_gen_toks: {max_tokens}
{sampling}metric_list:
  - metric: bypass
metadata:
  version: 1
"""


def read(path: Path) -> Iterator[Received]:
    """Yield the responses of a file ``samples_*.jsonl``: each repeat of a document is one, unfiltered."""
    for line, sample in json_lines(path, "lm_eval", "doc", "resps"):
        doc, context, settings = sample["doc"], *_arguments(sample.get("arguments"))
        key = doc.get("id") if isinstance(doc, Mapping) else None
        # Without sampling the temperature is 0.
        temperature = 0.0 if settings.get("do_sample") is False else settings.get("temperature")
        stated = {"temperature": temperature, "max_tokens": settings.get("max_gen_toks")}
        stated = {name: value for name, value in stated.items() if value is not None}
        texts = list(_texts(sample["resps"]))
        if not texts:
            raise broken(path, line, "has no response in 'resps'")
        for text in texts:
            yield Received(file=path.name, line=line, text=text, stated=stated, **named_by(key, context))


def _texts(responses: Any) -> Iterator[str | None]:
    """Yield the responses of a sample: a list of them for each request."""
    for each in responses if isinstance(responses, list) else [responses]:
        if isinstance(each, list):
            yield from _texts(each)
        elif each is None or isinstance(each, str):
            yield each


def _arguments(given: Any) -> tuple[str | None, Mapping[str, Any]]:
    """Return the context and the settings of a sample's first request, whichever way they are written."""
    first = next(iter(given.values()), None) if isinstance(given, Mapping) else given
    if isinstance(first, list) and first and isinstance(first[0], list):
        first = first[0]
    values = list(first.values()) if isinstance(first, Mapping) else first
    values = values if isinstance(values, list) else []
    context = values[0] if values else None
    if isinstance(context, list) and len(context) == 1:  # messages for an API, as JSON
        (context,) = context
    settings = values[1] if len(values) > 1 and isinstance(values[1], Mapping) else {}
    return chat_text(context), settings


def write(ways: Sequence[Way], arm: str, folder: Path) -> None:
    """Write a task and its documents per way."""
    for way in ways:
        temperature, task = way.spec.temperature, way.task(arm)
        drawn = f"  do_sample: {str((temperature or 0) > 0).lower()}\n  temperature: {temperature}\n"
        text = TASK.format(
            task=task,
            file=way.write(folder, _document),
            chat="" if way.wrapper else " --apply_chat_template",
            max_tokens=way.spec.max_tokens,
            sampling="" if temperature is None else drawn,
        )
        with replacing(folder / f"{task}.yaml") as part:
            part.write_text(text, encoding="utf-8")


def _document(prompt: Prompt, wrapper: str | None) -> dict[str, str]:
    # The system message is empty where there is none.
    system = "" if wrapper or len(prompt.messages) == 1 else prompt.messages[0]["content"]
    user = prompt.text if wrapper else prompt.messages[-1]["content"]
    return {"id": prompt.id, "prompt_sha256": prompt.sha256, "system": system, "user": user}


FORMAT = Format(
    name="lm_eval",
    about="Files `samples_*.jsonl` of lm-evaluation-harness (`--log_samples`); the responses before its filters.",
    endings=(".jsonl",),
    read=read,
    write=write,
    command="run `lm_eval` as the first lines of `cinorms_*.yaml` show; import `out/*/samples_*.jsonl`",
)
