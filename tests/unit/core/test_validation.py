"""What is wrong with a file is said in one line: where, what was given, what is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cinorms.core.errors import CinormsError, ConfigError, listing
from cinorms.core.validation import check, load_yaml, unknown
from cinorms.inference.model_entry import entries_schema
from cinorms.study.root import Root

ROOT = Path(__file__).parents[3]
SCHEMAS = sorted((ROOT / "workflow/schemas").rglob("*.yaml"))
SHORT = [str(path.relative_to(ROOT / "workflow/schemas")) for path in SCHEMAS]


def message_of(text: str | bytes, folder: Path) -> str:
    """Return the message, without the path, with which a file that holds ``text`` is refused."""
    path = folder / "study.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        load_yaml(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


# --- Files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nmodels: []\nseed: 2\n", "not valid YAML at line 3, column 1: key 'seed' is given twice"),
        (
            "norms:\n  t_val: 1\n  t_val: 2\n",
            "not valid YAML at line 3, column 3: key 't_val' is given twice",
        ),
        (
            "models: [a, b\nseed: 1\n",
            "not valid YAML at line 2, column 5: expected ',' or ']', but got ':'",
        ),
        (
            "arms:\n\tmain: 1\n",
            "not valid YAML at line 2, column 1: found character '\\t' that cannot start any token",
        ),
        ("arms: *nowhere\n", "not valid YAML at line 1, column 7: found undefined alias 'nowhere'"),
        ("a: 1\n---\nb: 2\n", "not valid YAML at line 2, column 1: but found another document"),
        ("[a, b]: 1\n", "not valid YAML at line 1, column 1: ['a', 'b'] cannot be a key"),
        ("? {a: 1}\n: 2\n", "not valid YAML at line 1, column 3: {'a': 1} cannot be a key"),
        (
            "study: !!python/name:os.system x\n",
            "not valid YAML at line 1, column 8: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/name:os.system'",
        ),
        (b"study: \xff\xfe\n", "cannot be read (it is not UTF-8 text)"),
    ],
)
def test_a_file_that_is_not_yaml_gets_one_line(text: str | bytes, message: str, tmp_path: Path) -> None:
    assert message_of(text, tmp_path) == message


def test_a_control_character_gets_one_line(tmp_path: Path) -> None:
    assert "special characters are not allowed" in message_of("study: a\x00b\n", tmp_path)


def test_a_file_that_is_not_there_or_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read \(No such file or directory\)"):
        load_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        load_yaml(tmp_path)


def test_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("base: &base {a: 1, b: 2}\nmore: {<<: *base, b: 3}\n", encoding="utf-8")
    assert load_yaml(path)["more"] == {"a": 1, "b": 3}


@given(text=st.text(alphabet=st.sampled_from("ab1:-[]{},?&*!|>'\"%@#\n\t ~<="), max_size=40))
@settings(max_examples=80, deadline=None)
def test_no_text_makes_reading_or_checking_fail_with_anything_but_a_message(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8")
    message = ""
    try:
        check(load_yaml(path), ROOT / "workflow/schemas/study.schema.yaml", "any.yaml")
    except CinormsError as error:
        message = str(error)
    assert "\n" not in message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("schema", ["study.schema.yaml", "dataset.schema.yaml", entries_schema()])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_any_value_under_any_key_gets_a_message_or_passes(
    schema: str | dict[str, Any], data: st.DataObject
) -> None:
    loaded = load_yaml(ROOT / "workflow/schemas" / schema) if isinstance(schema, str) else schema
    properties = loaded.get("properties") or loaded["additionalProperties"]["properties"]
    document: Any = {data.draw(st.sampled_from(sorted(properties))): data.draw(VALUES)}
    if "properties" not in loaded:
        document = {"entry": document}
    message = "any.yaml: "
    try:
        check(document, loaded, "any.yaml")
    except ConfigError as error:
        message = str(error)
    assert "\n" not in message
    assert message.startswith("any.yaml: ")


# --- Messages


def schema_file(folder: Path, schema: dict[str, Any]) -> Path:
    import json

    path = folder / f"{abs(hash(json.dumps(schema)))}.schema.yaml"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"const": "a"}, "b", "key: 'b' is not allowed; only 'a' is"),
        ({"enum": ["yes", None]}, 3, "key: 3 is not allowed; allowed: null, yes"),
        ({"minItems": 2}, [1], "key: at least 2 needed, 1 given"),
        ({"maxItems": 1}, [1, 2], "key: at most 1 allowed, 2 given"),
        ({"uniqueItems": True}, [1, 1], "key: the same entry is given twice in [1, 1]"),
        (
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            0,
            "key: 0 was given; allowed: more than 0, less than 1",
        ),
        ({"type": "number"}, float("inf"), "key: inf was given, a number is needed"),
        (
            {"type": ["string", "null"]},
            {"a": 1},
            "key: {'a': 1} was given, text or empty is needed",
        ),
        (
            {"pattern": "^x$", "description": "an x"},
            "y",
            "key: 'y' is not allowed; an x",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            ["a", 3],
            "key[1]: 3 was given, text is needed",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            3,
            "key: 3 was given; allowed: text or a list",
        ),
        (
            {
                "anyOf": [
                    {"type": "string", "pattern": "^x$"},
                    {"type": "object", "additionalProperties": False, "properties": {"label": {}}},
                ]
            },
            {"lable": "x"},
            "key.lable: there is no such key here; allowed: label; did you mean 'label'?",
        ),
        ({"type": "integer"}, "x" * 500, "key: '" + "x" * 96 + "... was given, a whole number is needed"),
    ],
)
def test_messages(schema: dict[str, Any], value: Any, message: str, tmp_path: Path) -> None:
    path = schema_file(tmp_path, {"type": "object", "properties": {"key": schema}})
    with pytest.raises(ConfigError) as caught:
        check({"key": value}, path, "file.yaml")
    assert str(caught.value) == f"file.yaml: {message}"


def test_an_unknown_key_explains_more_than_the_one_then_missing(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["sender"],
        "properties": {"sender": {}},
    }
    with pytest.raises(ConfigError, match=r"sendr: there is no such key here; .*did you mean 'sender'"):
        check({"sendr": 1}, schema_file(tmp_path, schema), "f")


def test_the_prefix_is_part_of_the_key(tmp_path: Path) -> None:
    path = schema_file(tmp_path, {"type": "object", "properties": {"width": {"type": "number"}}})
    with pytest.raises(ConfigError, match=r"^study\.yaml: figures\.fig\.width: 'wide' was given, a number"):
        check({"width": "wide"}, path, "study.yaml", prefix="figures.fig")


def test_names_are_listed_in_order_with_the_nearest_one() -> None:
    assert listing("chatgtp", ["gemini", "chatgpt"]) == "allowed: chatgpt, gemini; did you mean 'chatgpt'?"
    assert listing("IOT", ["iot", "coppa"]).endswith("did you mean 'iot'?")
    assert listing("xyz", ["iot", "coppa"]) == "allowed: coppa, iot"
    assert listing("x", []) == "allowed: none"
    assert str(unknown("f", "k", "x", [], "arm")) == "f: k: arm 'x' is not known; allowed: none"


# --- The schemas themselves


def objects_in(schema: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part of ``schema`` that is a schema, with where it stands."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for key in ("properties", "$defs"):
        for name, sub in schema.get(key, {}).items():
            yield from objects_in(sub, f"{place}/{key}/{name}")
    for key in ("items", "additionalProperties", "propertyNames", "if", "then", "else", "not"):
        yield from objects_in(schema.get(key), f"{place}/{key}")
    for key in ("allOf", "anyOf", "oneOf"):
        for number, sub in enumerate(schema.get(key, [])):
            yield from objects_in(sub, f"{place}/{key}/{number}")


@pytest.mark.parametrize("path", SCHEMAS, ids=SHORT)
def test_a_schema_is_closed_describes_every_key_and_holds_no_default(path: Path) -> None:
    schema = load_yaml(path)
    for place, part in objects_in(schema):
        assert "default" not in part, f"{place}: defaults stand in config/config.yaml only"
        assert "patternProperties" not in part, place
        condition = "/if" in place or "/then" in place or "/else" in place
        # The entries of analyses and figures are closed by the schemas of their kinds.
        of_a_kind = path.name == "study.schema.yaml" and place == "/$defs/entries/additionalProperties"
        if part.get("type") == "object" and not of_a_kind:
            assert "additionalProperties" in part, f"{place} is open"
            assert part["additionalProperties"] is not True, f"{place} is open"
        assert not ("properties" in part and "type" not in part and not condition), f"{place} has no type"
        for name, sub in part.get("properties", {}).items():
            target = sub
            if "$ref" in sub and "description" not in sub:
                target = schema["$defs"][sub["$ref"].removeprefix("#/$defs/")]
            assert condition or target.get("description"), f"{place}/{name} has no description"
        named = part.get("additionalProperties")
        if isinstance(named, dict):
            target = schema["$defs"][named["$ref"].removeprefix("#/$defs/")] if "$ref" in named else named
            assert target.get("description"), f"{place}: what stands under a name has no description"


@pytest.mark.parametrize("path", SCHEMAS, ids=SHORT)
def test_a_schema_is_a_valid_schema(path: Path) -> None:
    Draft202012Validator.check_schema(load_yaml(path))  # nobody does while a study is read
    assert load_yaml(path)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_each_kind_is_called_by_its_files_name() -> None:
    root = Root(ROOT)
    for section in ("analyses", "figures"):
        for kind, path in root.kinds(section).items():
            schema = load_yaml(path)
            assert schema["properties"]["kind"]["const"] == kind
            assert {"kind", "arms"} <= set(schema["required"])


def test_every_default_has_a_comment() -> None:
    text = (ROOT / "config/config.yaml").read_text(encoding="utf-8")
    settings_part, _, _ = text.partition("\nanalyses:")
    for line in settings_part.splitlines():
        _, colon, value = line.partition(": ")
        if colon and value and not line.startswith("#"):
            assert "#" in value, f"no comment: {line}"
