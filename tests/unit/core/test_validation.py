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
from cinorms.core.schema import Distinct, NotRequired, Number, SomeText, Text, Value, schema_of
from cinorms.core.validation import check_document, load_as, unknown
from cinorms.core.yaml_files import load_yaml, read_yaml
from cinorms.entries.kind import SECTIONS, kinds
from cinorms.inference.respondent_kinds import respondent_kind, respondent_names
from cinorms.inference.settings import ServedSettings
from cinorms.run.schemas import RESOURCES
from cinorms.study.load import read_settings
from cinorms.study.settings import StudySettings

from ...studies import default_layer, make_study_settings

ROOT = Path(__file__).parents[3]
SCHEMAS = {
    **{name: schema_of(cls) for name, cls in RESOURCES.items()},
    "a study": schema_of(StudySettings),
    **{
        f"a model of {kind.name}": schema_of(kind.settings)
        for kind in map(respondent_kind, respondent_names())
    },
    **{f"{kind.name} of {s}": kind.schema for s in SECTIONS for kind in kinds(s).values()},
}


# --- Files


PLAIN = "is not a plain number; write it in decimal digits, or as text in quotes"
TAG = "says; leave the tag out"
ANCHOR = "(allowed: 100), or an anchor (&) holds itself; write the file without that"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nmodels: []\nseed: 2\n", ": not valid YAML at line 3, column 1: key 'seed' appears twice"),
        ("models: [a, b\nseed: 1\n", "line 2, column 5: expected ',' or ']', but got ':'"),
        ("arms:\n\tmain: 1\n", "line 2, column 1: found character '\\t' that cannot start any token"),
        ("arms: *nowhere\n", "line 1, column 7: found undefined alias 'nowhere'"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: but found another document"),
        ("[a, b]: 1\n", "line 1, column 1: a list or a mapping cannot be a key"),
        ("study: !!python/name:os.system x\n", "for the tag 'tag:yaml.org,2002:python/name:os.system'"),
        (b"study: \xff\xfe\n", ": cannot be read (it is not UTF-8 text)"),
        ("study: a\x00b\n", 'special characters are not allowed in "<unicode string>", position 8'),
        ("a: 1:30", f"line 1, column 4: 1:30 {PLAIN}"),
        ("a: 010", f": 010 {PLAIN}"),
        ("a: 1_000", f": 1_000 {PLAIN}"),
        ("a: " + "9" * 5000, f": {'9' * 40} {PLAIN}"),
        ("a: !!int '99x'", f"line 1, column 4: '99x' is not what its tag '!!int' {TAG}"),
        ("a: !!int ''", f"'' is not what its tag '!!int' {TAG}"),
        ("a: !!bool maybe", f"'maybe' is not what its tag '!!bool' {TAG}"),
        ("a: !!int [1]", "expected a scalar node, but found sequence"),
        ("a: {b: !!set {c}}", ": a.b: {'c'} is no text, number, list or mapping; write one"),
        ("a: [1, {on: x}]", ": a[1]: YAML reads one of its keys as True; put it in quotes"),
        ('a: {b: "x\\0"}', r": a.b: 'x\x00' has the character '\x00', which no file can have; remove it"),
        ("a: !!set [b]", "expected a mapping node, but found sequence"),
        ("a: 2026-13-45", "YAML reads 2026-13-45 as a date; put it in quotes"),
        ("[" * 5000 + "]" * 5000, ANCHOR),
        ("a: &a [*a]", f": its lists and mappings are nested too deeply {ANCHOR}"),
        ("&a {b: *a}", ANCHOR),
        (
            "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
            ": its aliases (*) expand to more than 10,000 values; use fewer",
        ),
    ],
)
def test_a_file_that_no_study_can_be_gets_one_line(text, message, tmp_path, monkeypatch):
    monkeypatch.setattr(yaml_files, "MOST_VALUES", 10_000)
    path = tmp_path / "study.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        load_yaml(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith(message)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read \(No such file or directory\)"):
        load_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        load_yaml(tmp_path)


def test_plain_yaml_is_read_as_ever():
    assert read_yaml("base: &base {a: 1, b: 2}\nmore: {<<: *base, b: 3}\n", "x")["more"] == {"a": 1, "b": 3}
    text = "{a: 1, b: -2.5, c: 0, d: 0x10, e: '1:30', f: &x [1], g: *x}"
    assert read_yaml(text, "x") == {"a": 1, "b": -2.5, "c": 0, "d": 16, "e": "1:30", "f": [1], "g": [1]}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=6,
)


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


def message_of(kind: Any, value: Any) -> str:
    """Return the message for a ``value`` below a key of this kind, from the key on."""
    made = create_model("Made", __base__=Value, key=(kind, ...))
    with pytest.raises(ConfigError, match=r"^file\.yaml: key") as caught:
        check_document({"key": value}, made, "file.yaml")
    return str(caught.value).removeprefix("file.yaml: key")


COUNTS = "a mapping of names to whole numbers"
ONLY_X = Annotated[str, Field(pattern="^x$", description="an x")]
KEYS = "there is no such key here; did you mean 'label'? allowed: label, text"


@pytest.mark.parametrize(
    ("kind", "value", "allowed"),
    [
        (Literal["a"], "b", "a"),
        (Literal["yes", None], 3, "yes, null"),
        (Annotated[tuple[int, ...], Field(min_length=2)], [1], "a list of whole numbers (length at least 2)"),
        (tuple[int, int], [1, 2, 3], "a list of whole numbers (length at least 2, length at most 2)"),
        (SomeText, "", "text (length at least 1)"),
        (Annotated[Mapping[str, int], Field(max_length=0)], {"a": 1}, f"{COUNTS} (length at most 0)"),
        (Annotated[Number, Field(gt=0, lt=1)], 0, "a number (more than 0, less than 1)"),
        (Number, float("inf"), "a number"),
        (Number, True, "a number"),
        (str | None, {"a": 1}, "text or null"),
        (str | tuple[str, ...], 3, "text or a list of text"),
        (Annotated[int, Field(ge=100)], 2.5, "a whole number (at least 100)"),
        (int, 3.0, "a whole number"),
        (tuple[Mapping[str, int], ...], 3, "a list of mappings of keys to values"),
    ],
)
def test_a_message_says_what_is_allowed(kind, value, allowed):
    assert message_of(kind, value) == f": {value!r} is not allowed; allowed: {allowed}"


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Distinct[int], [1, 1], ": an entry appears twice in [1, 1]; keep one"),
        (NotRequired[str], None, ": null is not allowed; allowed: text"),
        (ONLY_X, "y", ": 'y' is not allowed; an x"),
        (Mapping[ONLY_X, int], {"y": 1}, ".y: 'y' is not allowed; an x"),
        (Text, "y\n", ": 'y\\n' is not allowed; one line of text without spaces around it"),
        (str | tuple[str, ...], ["a", 3], "[1]: 3 is not allowed; allowed: text"),
        (
            tuple[Text | Label, ...],
            [" x"],
            "[0]: ' x' is not allowed; one line of text without spaces around it",
        ),
        (tuple[Text | Label, ...], ["x", {"lable": "x"}], f"[1].lable: {KEYS}"),
        (int, "x" * 500, f": '{'x' * 96}... is not allowed; allowed: a whole number"),
        (Label, {"labl": "x"}, f".labl: {KEYS}"),
        (Label, {"\t": 1}, r".'\t': there is no such key here; allowed: label, text"),
        (Label, {"text": "x"}, ": key 'label' is missing; required: label"),
        (Mapping[Literal["\n"], int], {"\n": "\0"}, r".'\n': '\x00' is not allowed; allowed: a whole number"),
    ],
)
def test_messages(kind, value, message):
    assert message_of(kind, value) == message


def test_the_prefix_is_part_of_the_key_and_the_value_is_typed(tmp_path):
    wrong = r"label: 3 is not allowed; allowed: text"
    with pytest.raises(ConfigError, match=rf"^study\.yaml: figures\.fig\.{wrong}"):
        check_document({"label": 3}, Label, "study.yaml", prefix="figures.fig")
    with pytest.raises(ConfigError, match=rf"^study\.yaml: figures\.labl: {KEYS.replace('?', '.')}"):
        check_document({"labl": "x"}, Label, "study.yaml", prefix="figures")
    path = tmp_path / "label.yaml"
    path.write_text("label: x", encoding="utf-8")
    assert load_as(Label, path) == Label(label="x")
    path.write_text("label: 3", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"^it\.yaml: {wrong}"):
        load_as(Label, path, "it.yaml")


def test_names_are_listed_in_order_with_the_nearest_one():
    assert listing("chatgtp", ["gemini", "chatgpt"]) == "did you mean 'chatgpt'? allowed: chatgpt, gemini"
    assert listing("IOT", ["iot", "coppa"]).startswith("did you mean 'iot'?")
    assert listing("xyz", ["iot", "coppa"]) == "allowed: coppa, iot"
    assert listing("x", []) == "allowed: none"
    assert str(unknown("f", "k", "x", [], "arm")) == "f: k: 'x' is not an arm; allowed: none"
    assert str(unknown("f", "k", "x", ["m"], "model")) == "f: k: 'x' is not a model; allowed: m"


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
def test_a_schema_is_valid_closed_and_bounded_and_describes_every_key(which):
    Draft202012Validator.check_schema(SCHEMAS[which])  # nobody does while a study is read
    for place, part in objects_in(SCHEMAS[which]):
        assert not {"patternProperties", "$ref", "$defs", "allOf", "oneOf", "if"} & set(part), place
        # The entries of analyses and figures are closed by the schemas of their kinds.
        entries = r"/properties/(analyses|figures|printed)/additionalProperties"
        if part.get("type") == "object" and not (which == "a study" and re.fullmatch(entries, place)):
            assert part.get("additionalProperties", True) is not True, f"{place} is open"
        assert "type" in part or "properties" not in part, f"{place} has no type"
        named = (
            {"": part["additionalProperties"]} if isinstance(part.get("additionalProperties"), dict) else {}
        )
        for name, value in {**part.get("properties", {}), **named}.items():
            assert value.get("description"), f"{place}/{name} has no description"
        types = str(part.get("type"))
        # A level can be a number, and an expected value's place on an axis: they are names, not amounts.
        is_name = "string" in types or "embedding" in place
        if re.search("integer|number", types) and not is_name and which not in RESOURCES:
            for bound in ("inimum", "aximum"):
                assert {f"m{bound}", f"exclusiveM{bound}"} & set(part), f"{place} has no m{bound}"


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


def test_every_default_has_a_comment():
    text = (ROOT / "config/config.yaml").read_text(encoding="utf-8")
    settings_part, _, _ = text.partition("\nanalyses:")
    for line in settings_part.splitlines():
        _, colon, value = line.partition(": ")
        if colon and value and not line.lstrip().startswith("#"):
            assert "#" in value, f"no comment: {line}"
