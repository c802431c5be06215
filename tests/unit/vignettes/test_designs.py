from pathlib import Path

import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError
from cinorms.vignettes.designs import expand, factor_columns, load_dataset

from ...mistakes import mistakes
from ...snakemake_runs import write_yaml

FACTORS = {"sender": ["a door", "a lock"], "recipient": ["the police", "a friend", "a shop"]}
GOOD = {
    "title": "Doors",
    "context": "smart home",
    "scale": "acceptability",
    "source": "design",
    "origin": {"citation": "nobody (2026)", "licence": "MIT"},
    "factors": FACTORS,
    "template": "{{ sender }} tells {{ recipient }}",
}


def write(folder: Path, **changes: object) -> Path:
    path = folder / "doors.yaml"
    write_yaml(path, {key: value for key, value in (GOOD | changes).items() if value is not None})
    return path


def test_the_first_factor_is_the_slowest(tmp_path):
    made = load_dataset(write(tmp_path))
    assert (made.name, made.scale, made.n_flows()) == ("doors", "acceptability", 6)
    assert made.levels == {name: tuple(levels) for name, levels in FACTORS.items()}
    frame = expand(made)
    assert factor_columns(made).equals(frame[list(made.levels)])
    assert frame["flow"].tolist() == list(range(6))
    assert frame["vignette"].tolist() == [
        f"{sender} tells {recipient}" for sender in FACTORS["sender"] for recipient in FACTORS["recipient"]
    ]
    assert frame["recipient"].cat.categories.tolist() == FACTORS["recipient"]
    assert frame["expected"].isna().all()
    tables.write(frame, tmp_path / "x.parquet", tables.VIGNETTES)
    assert tables.read(tmp_path / "x.parquet", tables.VIGNETTES).equals(frame)


def test_the_label_goes_into_the_table_and_the_text_into_the_vignette(tmp_path):
    levels = ["at once", {"label": "nothing stated", "text": ""}]
    template = "{{ sender }} opens{% if access %}, {{ access }}{% endif %}"
    path = write(tmp_path, factors={"sender": ["a door"], "access": levels}, template=template)
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
    ("template", "message"),
    [
        (
            "{{ sender }} {{ recipient }}{% if sender > 3 %}x{% endif %}",
            "cannot be filled .*; compare factors",
        ),
        ("{{ sender }} tells", "flows 0 and 1 have the same vignette 'a door tells'; the template must tell"),
    ],
)
def test_a_template_that_cannot_be_filled_or_leaves_a_factor_out(tmp_path, template, message):
    with pytest.raises(ConfigError, match=rf"doors\.yaml: template: {message}"):
        expand(load_dataset(write(tmp_path, template=template)))


#: A dataset in a CSV file with an address.
CSV = {
    "source": "csv",
    "factors": None,
    "template": None,
    "files": {"vignettes": {"url": "https://example.org/x.csv", "sha256": "0" * 64}},
    "columns": {"vignette": "vignette", "factors": {"sender": "sender"}},
    "rows": 3,
}


@pytest.mark.parametrize(("changes", "message"), mistakes(Path(__file__).with_name("mistakes.txt")))
def test_a_wrong_dataset_gives_one_message(tmp_path, changes, message):
    changes = CSV | changes["csv"] if "csv" in changes else changes
    with pytest.raises(ConfigError) as raised:
        load_dataset(write(tmp_path, **changes))
    assert str(raised.value).replace(f"{tmp_path}/", "").replace(str(tmp_path), "{folder}") == message


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            "{{ " + "(" * 500 + "sender" + ")" * 500 + " }}",
            "its brackets or conditions are nested too deeply; ",
        ),
        ("{% if sender %}" * 100 + "x" + "{% endif %}" * 100, "its brackets or conditions are nested"),
        ("{{ sender", "not a valid Jinja2 template: "),
    ],
)
def test_a_template_that_cannot_be_read(tmp_path, condition, message):
    with pytest.raises(ConfigError, match=rf"doors\.yaml: template: {message}"):
        load_dataset(write(tmp_path, template=f"{{{{ recipient }}}} {condition}"))


def test_a_csv_dataset_tells_its_size_but_not_its_levels(tmp_path):
    dataset = load_dataset(write(tmp_path, **CSV))
    assert dataset.n_flows() == 3
    assert dataset.levels == {"sender": ()}
    path = str(tmp_path / "doors.yaml")
    assert dataset.inputs() == {"dataset": [path], "own": []}
    # One's own file needs neither digest nor rows, and is an input.
    (tmp_path / "x.csv").touch()
    dataset = load_dataset(write(tmp_path, **CSV | {"files": {"vignettes": {"url": "x.csv"}}, "rows": None}))
    assert dataset.n_flows() is None
    assert dataset.inputs() == {"dataset": [path], "own": [str(tmp_path / "x.csv")]}
