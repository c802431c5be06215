"""What is wrong with a file is shown in one line: where, what is given, what is allowed."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import Field, create_model

from cinorms.core import yaml_files
from cinorms.core.errors import ConfigError, listing
from cinorms.core.schema import Distinct, LeftOut, Number, Text, Value, schema_of
from cinorms.core.validation import check_document, load_as, unknown
from cinorms.core.yaml_files import load_yaml
from cinorms.entries.kind import SECTIONS, kinds
from cinorms.inference.engine_kind import engine_kinds
from cinorms.inference.settings import ServedSettings
from cinorms.run.reference import RESOURCES
from cinorms.study.load import read_settings
from cinorms.study.settings import StudySettings
from cinorms.vignettes.designs import DatasetFile

from ...studies import default_layer

ROOT = Path(__file__).parents[3]
SCHEMAS = {
    **{name: schema_of(cls) for name, cls in RESOURCES.items()},
    "a study": schema_of(StudySettings),
    **{f"a model of {kind.name}": schema_of(kind.settings) for kind in engine_kinds()},
    **{f"{kind.name} of {s}": kind.schema for s in SECTIONS for kind in kinds(s).values()},
}


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
        ("seed: 1\nmodels: []\nseed: 2\n", "not valid YAML at line 3, column 1: key 'seed' appears twice"),
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
        ("[a, b]: 1\n", "not valid YAML at line 1, column 1: a list or a mapping cannot be a key"),
        (
            "study: !!python/name:os.system x\n",
            "not valid YAML at line 1, column 8: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/name:os.system'",
        ),
        (b"study: \xff\xfe\n", "cannot be read (it is not UTF-8 text)"),
        (
            "study: a\x00b\n",
            'not valid YAML: unacceptable character #x0000: special characters are not allowed in "<unicode string>", '
            "position 8",
        ),
    ],
)
def test_a_file_that_is_not_yaml_gets_one_line(text, message, tmp_path):
    assert message_of(text, tmp_path) == message


def test_a_file_that_is_not_there_or_no_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read \(No such file or directory\)"):
        load_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        load_yaml(tmp_path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=6,
)


def test_a_key_that_ends_a_line_is_shown_in_one():
    for document, shown in [
        ({"columns": {"\n": None}}, r"columns.'\n'"),
        ({"\t": 1}, r"'\t'"),
        ({"columns": {"\n": "\0"}}, r"columns.'\n'"),
    ]:
        with pytest.raises(ConfigError) as caught:
            check_document(document, DatasetFile, "any.yaml")
        assert str(caught.value).startswith(f"any.yaml: {shown}: ")


@pytest.mark.parametrize("cls", [StudySettings, *RESOURCES.values(), ServedSettings])
@given(data=st.data())
@settings(max_examples=10)
def test_any_value_under_any_key_gets_a_message_or_passes(cls, data):
    document = {data.draw(st.sampled_from(sorted(cls.model_fields))): data.draw(VALUES)}
    message = "any.yaml: "
    try:
        if cls is StudySettings:  # merged with the defaults before it is checked
            read_settings({**default_layer(), "any.yaml": document})
        else:
            check_document(document, cls, "any.yaml")
    except ConfigError as error:
        message = str(error)
    assert "\n" not in message
    assert message.startswith("any.yaml: ")


# --- Messages


class Label(Value):
    label: str
    text: str = ""


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Literal["a"], "b", "key: 'b' is not allowed; allowed: a"),
        (Literal["yes", None], 3, "key: 3 is not allowed; allowed: yes, null"),
        (
            Annotated[tuple[int, ...], Field(min_length=2)],
            [1],
            "key: [1] is not allowed; allowed: a list of whole numbers (length at least 2)",
        ),
        (
            tuple[int, int],
            [1, 2, 3],
            "key: [1, 2, 3] is not allowed; allowed: a list of whole numbers (length at least 2, length at most 2)",
        ),
        (
            Annotated[str, Field(min_length=2)],
            "a",
            "key: 'a' is not allowed; allowed: text (length at least 2)",
        ),
        (
            Annotated[Mapping[str, int], Field(max_length=1)],
            {"a": 1, "b": 2},
            "key: {'a': 1, 'b': 2} is not allowed; allowed: a mapping of names to whole numbers (length at most 1)",
        ),
        (Distinct[int], [1, 1], "key: an entry appears twice in [1, 1]; keep one"),
        (
            Annotated[Number, Field(gt=0, lt=1)],
            0,
            "key: 0 is not allowed; allowed: a number (more than 0, less than 1)",
        ),
        (Number, float("inf"), "key: inf is not allowed; allowed: a number"),
        (Number, True, "key: True is not allowed; allowed: a number"),
        (str | None, {"a": 1}, "key: {'a': 1} is not allowed; allowed: text or null"),
        (LeftOut[str], None, "key: null is not allowed; allowed: text"),
        (Annotated[str, Field(pattern="^x$", description="an x")], "y", "key: 'y' is not allowed; an x"),
        (Text, "y\n", "key: 'y\\n' is not allowed; one line of text without spaces around it"),
        (
            Mapping[Annotated[str, Field(pattern="^x$", description="an x")], int],
            {"y": 1},
            "key.y: 'y' is not allowed; an x",
        ),
        (str | tuple[str, ...], ["a", 3], "key[1]: 3 is not allowed; allowed: text"),
        (str | tuple[str, ...], 3, "key: 3 is not allowed; allowed: text or a list of text"),
        (
            tuple[Text | Label, ...],
            [" x"],
            "key[0]: ' x' is not allowed; one line of text without spaces around it",
        ),
        (
            tuple[Text | Label, ...],
            ["x", {"lable": "x"}],
            "key[1].lable: there is no such key here; did you mean 'label'? allowed: label, text",
        ),
        (
            Annotated[int, Field(ge=100)],
            2.5,
            "key: 2.5 is not allowed; allowed: a whole number (at least 100)",
        ),
        (int, 3.0, "key: 3.0 is not allowed; allowed: a whole number"),
        (int, "x" * 500, "key: '" + "x" * 96 + "... is not allowed; allowed: a whole number"),
        (
            Label,
            {"labl": "x"},
            "key.labl: there is no such key here; did you mean 'label'? allowed: label, text",
        ),
        (
            Label,
            {"text": 3},
            "key: key 'label' is missing; required: label|key.text: 3 is not allowed; allowed: text",
        ),
    ],
)
def test_messages(kind, value, message):
    made = create_model("Made", __base__=Value, key=(kind, ...))
    with pytest.raises(ConfigError) as caught:
        check_document({"key": value}, made, "file.yaml")
    assert str(caught.value) in {f"file.yaml: {each}" for each in message.split("|")}


def test_the_prefix_is_part_of_the_key_and_the_value_is_typed(tmp_path):
    with pytest.raises(
        ConfigError, match=r"^study\.yaml: figures\.fig\.label: 3 is not allowed; allowed: text"
    ):
        check_document({"label": 3}, Label, "study.yaml", prefix="figures.fig")
    path = tmp_path / "label.yaml"
    path.write_text("label: x", encoding="utf-8")
    assert load_as(Label, path) == Label(label="x")
    path.write_text("label: 3", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^it\.yaml: label: 3 is not allowed; allowed: text"):
        load_as(Label, path, "it.yaml")


def test_names_are_listed_in_order_with_the_nearest_one():
    assert listing("chatgtp", ["gemini", "chatgpt"]) == "did you mean 'chatgpt'? allowed: chatgpt, gemini"
    assert listing("IOT", ["iot", "coppa"]).startswith("did you mean 'iot'?")
    assert listing("xyz", ["iot", "coppa"]) == "allowed: coppa, iot"
    assert listing("x", []) == "allowed: none"
    assert str(unknown("f", "k", "x", [], "arm")) == "f: k: 'x' is not an arm; allowed: none"


# --- The schemas themselves


def objects_in(schema: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part of ``schema`` that is a schema, with where it stands."""
    if isinstance(schema, dict):
        yield place, schema
        for name, part in schema.get("properties", {}).items():
            yield from objects_in(part, f"{place}/properties/{name}")
        for key in ("items", "additionalProperties", "propertyNames"):
            yield from objects_in(schema.get(key), f"{place}/{key}")
        for number, part in enumerate(schema.get("anyOf", [])):
            yield from objects_in(part, f"{place}/anyOf/{number}")


@pytest.mark.parametrize("which", SCHEMAS)
def test_a_schema_is_valid_closed_and_describes_every_key(which):
    Draft202012Validator.check_schema(SCHEMAS[which])  # nobody does while a study is read
    for place, part in objects_in(SCHEMAS[which]):
        assert not {"patternProperties", "$ref", "$defs", "allOf", "oneOf", "if"} & set(part), place
        # The entries of analyses and figures are closed by the schemas of their kinds.
        entries = r"/properties/(analyses|figures|printed)/additionalProperties"
        if part.get("type") == "object" and not (which == "a study" and re.fullmatch(entries, place)):
            assert "additionalProperties" in part, f"{place} is open"
            assert part["additionalProperties"] is not True, f"{place} is open"
        assert "type" in part or "properties" not in part, f"{place} has no type"
        for name, value in part.get("properties", {}).items():
            assert value.get("description"), f"{place}/{name} has no description"
        named = part.get("additionalProperties")
        if isinstance(named, dict):
            assert named.get("description"), f"{place}: what stands under a name has no description"


def test_every_default_has_a_comment():
    text = (ROOT / "config/config.yaml").read_text(encoding="utf-8")
    settings_part, _, _ = text.partition("\nanalyses:")
    for line in settings_part.splitlines():
        _, colon, value = line.partition(": ")
        if colon and value and not line.lstrip().startswith("#"):
            assert "#" in value, f"no comment: {line}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1:30", "line 1, column 4: 1:30 is not a plain number"),
        ("a: 010", "010 is not a plain number"),
        ("a: 1_000", "1_000 is not a plain number"),
        ("a: " + "9" * 5000, "is not a plain number"),
        ("a: !!int '99x'", "line 1, column 4: '99x' is not what its tag '!!int' says; leave the tag out"),
        ("a: !!int ''", "'' is not what its tag '!!int' says"),
        ("a: !!bool maybe", "'maybe' is not what its tag '!!bool' says"),
        ("a: !!int [1]", "expected a scalar node, but found sequence"),
        ("a: {b: !!set {c}}", "a.b: {'c'} is no text, number, list or mapping; write one"),
        ("a: [1, {on: x}]", r"a\[1\]: YAML reads one of its keys as True; put it in quotes"),
        ('a: {b: "x\\0"}', "a.b: .* has the character .*, which no file can have; remove it"),
        ("a: !!set [b]", "expected a mapping node, but found sequence"),
        ("a: 2026-13-45", "YAML reads 2026-13-45 as a date; put it in quotes"),
        ("[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a: &a [*a]", "an anchor .* holds itself"),
        ("&a {b: *a}", "an anchor .* holds itself"),
        (
            "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
            "expand to more than 10,000 values",
        ),
    ],
)
def test_what_yaml_would_take_and_nobody_means(tmp_path, monkeypatch, text, message):
    monkeypatch.setattr(yaml_files, "MOST_VALUES", 10_000)
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_yaml(path)


def test_plain_yaml_is_read_as_ever(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("base: &base {a: 1, b: 2}\nmore: {<<: *base, b: 3}\n", encoding="utf-8")
    assert load_yaml(path)["more"] == {"a": 1, "b": 3}
    path.write_text("{a: 1, b: -2.5, c: 0, d: 0x10, e: '1:30', f: &x [1], g: *x}", encoding="utf-8")
    assert load_yaml(path) == {"a": 1, "b": -2.5, "c": 0, "d": 16, "e": "1:30", "f": [1], "g": [1]}
