from pathlib import Path

import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError
from cinorms.vignettes.designs import expand, factor_columns, load_dataset

from ...snakemake_runs import write_yaml

GOOD = {
    "title": "Doors",
    "context": "smart home",
    "scale": "acceptability",
    "source": "design",
    "origin": {"citation": "nobody (2026)", "licence": "MIT"},
    "factors": {"sender": ["a door", "a lock"], "recipient": ["the police", "a friend", "a shop"]},
    "template": "{{ sender }} tells {{ recipient }}",
}


def write(folder: Path, **changes: object) -> Path:
    path = folder / "doors.yaml"
    write_yaml(path, {key: value for key, value in (GOOD | changes).items() if value is not None})
    return path


def test_a_dataset_is_named_after_its_file_and_knows_its_levels(tmp_path):
    dataset = load_dataset(write(tmp_path))
    assert (dataset.name, dataset.scale, dataset.n_flows()) == ("doors", "acceptability", 6)
    assert dataset.levels == {name: tuple(levels) for name, levels in GOOD["factors"].items()}


def test_the_first_factor_is_the_slowest(tmp_path):
    made = load_dataset(write(tmp_path))
    frame = expand(made)
    assert factor_columns(made).equals(frame[list(made.levels)])
    assert frame["flow"].tolist() == list(range(6))
    assert frame["vignette"].tolist() == [
        f"{sender} tells {recipient}"
        for sender in ("a door", "a lock")
        for recipient in ("the police", "a friend", "a shop")
    ]
    assert frame["recipient"].cat.categories.tolist() == ["the police", "a friend", "a shop"]
    assert frame["expected"].isna().all()
    tables.write(frame, tmp_path / "x.parquet", tables.VIGNETTES)
    assert tables.read(tmp_path / "x.parquet", tables.VIGNETTES).equals(frame)


def test_the_null_principle_needs_a_null_level(tmp_path):
    made = load_dataset(write(tmp_path))
    with pytest.raises(ConfigError, match=r"doors\.yaml: null_principle needs the key 'null_level'"):
        expand(made, null_principle=True)
    with pytest.raises(ConfigError, match="null_level"):
        made.n_flows(null_principle=True)


def test_the_label_goes_into_the_table_and_the_text_into_the_vignette(tmp_path):
    levels = ["at once", {"label": "nothing stated", "text": ""}]
    path = write(
        tmp_path,
        factors={"sender": ["a door"], "access": levels},
        template="{{ sender }} opens{% if access %}, {{ access }}{% endif %}",
    )
    frame = expand(load_dataset(path))
    assert frame["access"].tolist() == ["at once", "nothing stated"]
    assert frame["vignette"].tolist() == ["a door opens, at once", "a door opens"]
    # Within a linked group a level can come twice.
    places = {"place": ["at home", "online", "online"], "channel": ["heard", "read", "saw"]}
    linked = {"template": "{{ place }}, {{ channel }}", "linked": [["place", "channel"]]}
    frame = expand(load_dataset(write(tmp_path, factors=places, **linked)))
    assert frame["place"].tolist() == ["at home", "online", "online"]
    assert frame["place"].cat.categories.tolist() == ["at home", "online"]


@pytest.mark.parametrize(
    "template",
    [
        "{{ sender.__class__ }} {{ recipient }}",
        "{{ range(3) }} {{ sender }} {{ recipient }}",
        "{% for x in sender %}{{ x }}{% endfor %} {{ recipient }}",
        "{{ sender }} {{ recipient }} {% include 'x' %}",
        "{% if sender is defined %}{{ sender }}{% endif %} {{ recipient }}",
        "{{ sender | upper }} {{ recipient }}",
        "{{ sender",
    ],
)
def test_a_template_can_only_show_and_compare_factors(tmp_path, template):
    with pytest.raises(ConfigError, match=r"doors\.yaml: template: .*(not allowed|not a valid)"):
        load_dataset(write(tmp_path, template=template))


def test_a_template_that_compares_a_factor_with_a_number_gets_one_message(tmp_path):
    made = load_dataset(
        write(tmp_path, template="{{ sender }} {{ recipient }}{% if sender > 3 %}x{% endif %}")
    )
    with pytest.raises(
        ConfigError, match=r"template: cannot be filled .*; compare factors with texts in quotes"
    ):
        expand(made)


def test_a_template_that_leaves_a_factor_out_is_refused(tmp_path):
    made = load_dataset(write(tmp_path, template="{{ sender }} tells somebody"))
    with pytest.raises(ConfigError, match=r"flows 0 and 1 have the same vignette 'a door tells somebody'"):
        expand(made)


def file(**changes: str | None) -> dict[str, object]:
    given = {"url": "https://example.org/x.csv", "sha256": "0" * 64} | changes
    return {"vignettes": {key: value for key, value in given.items() if value is not None}}


CSV = {
    "source": "csv",
    "factors": None,
    "template": None,
    "files": file(),
    "columns": {"vignette": "vignette", "factors": {"sender": "sender"}},
    "rows": 3,
}


TWO = {"factors": {"a": ["1", "2"], "b": ["3", "4"], "c": ["5", "6"]}, "template": "{{ a }}{{ b }}{{ c }}"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"titlee": "x"}, ["titlee", "did you mean 'title'"]),
        ({"template": None}, ["'template' is missing", "source: design"]),
        ({"rows": 3}, ["rows", "does not fit 'source: design'"]),
        ({"template": "{{ sendr }} {{ recipient }}"}, ["template", "sendr", "did you mean 'sender'"]),
        # Names that mean something else in templates.
        *(
            (
                {"template": f"{{{{ sender }}}} {{{{ recipient }}}} {{{{ {name} }}}}"},
                [f"template: '{name}' is not a factor"],
            )
            for name in ("self", "loop", "range")
        ),
        (
            {"factors": {"true": ["a door"]}, "template": "{{ true }}"},
            ["factors: 'true' cannot name a factor"],
        ),
        *(
            (
                {"template": f"{{{{ sender }}}} {{{{ recipient }}}} {before}sender{after}"},
                ["nested too deeply"],
            )
            for before, after in (
                ("{{ " + "(" * 500, ")" * 500 + " }}"),
                ("{% if sender %}" * 100 + "{{", "}}" + "{% endif %}" * 100),
            )
        ),
        ({"linked": [["sender", "recipients"]]}, ["linked", "did you mean 'recipient'"]),
        ({"linked": [["sender", "recipient"]]}, ["linked", "sender 2, recipient 3"]),
        ({"factors": {"sender": ["a", "a"]}, "template": "{{ sender }}"}, ["sender", "'a' appears twice"]),
        ({"factors": {"flow": ["a"]}}, ["flow", "cannot name a factor"]),
        ({"null_level": {"factor": "sendr", "label": "none"}}, ["null_level.factor", "'sender'"]),
        ({"null_level": {"factor": "sender", "label": "a door"}}, ["null_level.label", "already a level"]),
        (TWO | {"linked": [["a", "b"], ["b", "c"]]}, ["linked", "'b' is in two groups"]),
        (
            TWO | {"linked": [["a", "b"]], "null_level": {"factor": "b", "label": "none"}},
            ["null_level.factor", "'b' is in a linked group"],
        ),
        (CSV | {"rows": None}, ["'rows' is missing", "a file with an address needs it"]),
        (CSV | {"files": file(sha256=None)}, ["'files.vignettes.sha256' is missing", "sha256sum FILE"]),
        (CSV | {"files": file(url="gone.csv")}, ["files.vignettes.url", "'gone.csv'", "there is no file"]),
        (CSV | {"files": file(url="ftp://x/y.csv")}, ["files.vignettes.url", "http or https"]),
        (CSV | {"expected_range": [5, 1]}, ["expected_range", "lower"]),
        (
            CSV | {"columns": {"vignette": "v", "factors": {"sender": "s"}, "expected": "e"}},
            ["'expected_range' is missing"],
        ),
        (CSV | {"source": "confaide"}, ["columns", "does not fit 'source: confaide'"]),
    ],
)
def test_a_wrong_dataset_gives_one_message_with_file_and_key(tmp_path, changes, words):
    with pytest.raises(ConfigError) as raised:
        load_dataset(write(tmp_path, **changes))
    message = str(raised.value)
    assert "\n" not in message
    for word in ["doors.yaml", *words]:
        assert word in message


def test_a_csv_dataset_tells_its_size_but_not_its_levels(tmp_path):
    dataset = load_dataset(write(tmp_path, **CSV))
    assert dataset.n_flows() == 3
    assert dataset.levels == {"sender": ()}
    assert dataset.inputs() == {"dataset": [str(tmp_path / "doors.yaml")], "own": []}
    with pytest.raises(ConfigError, match="null_principle"):
        dataset.n_flows(null_principle=True)


def test_ones_own_file_needs_neither_digest_nor_rows_and_is_an_input(tmp_path):
    (tmp_path / "x.csv").touch()
    dataset = load_dataset(write(tmp_path, **CSV | {"files": file(url="x.csv", sha256=None), "rows": None}))
    assert dataset.n_flows() is None
    assert dataset.inputs() == {"dataset": [str(tmp_path / "doors.yaml")], "own": [str(tmp_path / "x.csv")]}
