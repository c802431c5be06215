import hashlib
from pathlib import Path

import pandas as pd
import pytest

from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.vignettes.designs import expand, load_dataset
from cinorms.vignettes.reading import read_vignettes

from ...scales import shipped

RESOURCES = Path(__file__).parents[3] / "resources"
DATASETS = {path.stem: path for path in sorted((RESOURCES / "vignettes").glob("*.yaml"))}
PROMPT_SETS = {path.stem: path for path in sorted((RESOURCES / "prompts").glob("*.yaml"))}

#: Flows of each design, the published file with the same flows in the same order, and the start of the SHA-256 of its
#: vignettes, joined by line breaks: no text changes unnoticed.
DESIGNS = {
    "iot": (6912, "iot", "b62aaed0688f16f8"),
    "coppa": (1800, "coppa", "d4528ce5b24784af"),
    "internet_1": (100, "web1", "2e65ae4981684b33"),
    "internet_2": (500, "web2", "c60a1e0a7648ae28"),
    "internet_3": (500, "web3", "8dfac4a0a1764c13"),
    "internet_4": (500, "web4", "c5f07a04408b532e"),
    "internet_5": (500, "web5", "d5b4bffd48fbba4b"),
    "internet_6": (100, "web6", "be6adeec1027d580"),
    "location_1": (288, "loc1", "549dd4b505257d62"),
    "location_2": (1440, "loc2", "77a7cbf5a176dbed"),
    "location_3": (1440, "loc3", "81fc4b455b5372b6"),
    "public_records": (48, "pubrec", "1e237feeb7cda88b"),
    "social_contract": (1200, "contract", "131a04ebd7f62f3d"),
}

#: Of the papers' templates.
TEMPLATES = {
    "chatgpt": "6661d33496789686",
    "confaide": "1b9b753da89e841c",
    "gemini": "692c34c07df889d6",
    "pegasus": "c7b791d4b7df6861",
}


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_loads(name):
    dataset = load_dataset(DATASETS[name])
    assert shipped(dataset.scale).name == dataset.scale
    assert dataset.n_flows() > 0
    assert (dataset.source == "design") == (name in {*DESIGNS, "chatbot", "education"})


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_has_its_flows_and_their_text(name):
    n_flows, _, text = DESIGNS[name]
    dataset = load_dataset(DATASETS[name])
    vignettes = expand(dataset)["vignette"].tolist()
    assert dataset.n_flows() == len(vignettes) == n_flows
    assert digest(vignettes) == text


@pytest.mark.parametrize("name", TEMPLATES)
def test_prompt_sets_are_the_papers_text(name):
    prompt_set = load_prompt_set(PROMPT_SETS[name])
    assert len(prompt_set.templates) == 11
    assert digest(list(prompt_set.templates)) == TEMPLATES[name]
    assert prompt_set.scale == ("agreement" if name == "confaide" else "acceptability")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DATASETS if name not in DESIGNS])
def test_declared_files_are_in_the_mirror(name, tmp_path, mirror):
    frame = read_vignettes(load_dataset(DATASETS[name]), tmp_path / "cache", mirror)
    assert len(frame) == load_dataset(DATASETS[name]).n_flows()
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DESIGNS if f"published_{DESIGNS[name][1]}" in DATASETS])
def test_flows_have_the_levels_of_the_published_flow_of_the_same_number(name, tmp_path, mirror):
    ours = expand(load_dataset(DATASETS[name]))
    dataset = load_dataset(DATASETS[f"published_{DESIGNS[name][1]}"])
    assert (dataset.flows_of, dataset.n_flows()) == (name, len(ours))
    theirs = read_vignettes(dataset, tmp_path, mirror)
    factors = [column for column in theirs.columns if column not in ("flow", "vignette", "expected")]
    assert [factor for factor in ours.columns if factor in factors] == factors
    for factor in factors:
        assert ours[factor].cat.codes.tolist() == theirs[factor].cat.codes.tolist(), factor


@pytest.mark.slow
def test_confaide_factors_are_those_of_its_sentences(tmp_path, mirror):
    frame = read_vignettes(load_dataset(DATASETS["confaide_2a"]), tmp_path, mirror)
    pattern = r"Information about (.+) is collected by (.+) in order to (.+?)\.+$"
    about, by, why = frame["vignette"].str.extract(pattern).T.to_numpy()
    assert [text.lower() for text in about] == frame["information_type"].tolist()
    assert by.tolist() == frame["recipient"].tolist()
    mended = {"offers to": "offer to", "with you other": "with your other"}
    why = pd.Series(why).str.lower().replace(mended, regex=True)
    assert why.tolist() == frame["transmission_principle"].tolist()
    assert frame["expected"].between(-100, 100).all()
    assert frame["expected"].iloc[[0, 59, 97]].tolist() == [1.26, 70.82, -57.53]
