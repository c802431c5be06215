"""Every number of a study, a registry and an entry has both bounds, and names have no line break at their end."""

from collections.abc import Iterator
from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.core.schema import schema_of
from cinorms.entries.kind import kinds
from cinorms.inference.model_entry import entries_schema
from cinorms.study.settings import StudySettings

from ..studies import make_study_settings

SCHEMAS = {
    "study": schema_of(StudySettings),
    "models": entries_schema(),
    **{
        f"{section}.{name}": kind.options.schema_for(name, "")
        for section in ("analyses", "figures", "printed")
        for name, kind in kinds(section).items()
    },
}


def numbers(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part of a schema that takes a number, with where it is."""
    if isinstance(schema, list):
        for part in schema:
            yield from numbers(part, path)
    elif isinstance(schema, dict):
        types = schema.get("type")
        types = types if isinstance(types, list) else [types]
        # A level can be a number, and an expected value's place on an axis: they are names, not amounts.
        if {"integer", "number"} & set(types) and "string" not in types and "embedding" not in path:
            yield path, schema
        for key, value in schema.items():
            yield from numbers(value, f"{path}.{key}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_number_has_both_bounds(name):
    for path, schema in numbers(SCHEMAS[name], name):
        assert {"minimum", "exclusiveMinimum"} & set(schema), path
        assert {"maximum", "exclusiveMaximum"} & set(schema), path


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"norms": {"t_val": 10**30}}, "norms.t_val: .*at most"),
        ({"study": "demo\n"}, "study: "),
        ({"arms": {"main\n": {"dataset": "iot", "prompts": "chatgpt"}}}, "arms"),
    ],
)
def test_what_is_out_of_bounds_is_one_message(document, message):
    with pytest.raises(ConfigError, match=message):
        make_study_settings(document)
