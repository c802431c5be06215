import hashlib
import re
from pathlib import Path

import pytest

from cinorms.core.errors import ConfigError
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.vignettes.designs import expand, factor_columns, load_dataset
from cinorms.vignettes.reading import read_vignettes

from ...scales import shipped
from ...snakemake_runs import write_yaml

RESOURCES = Path(__file__).parents[3] / "resources"
DATASETS = {path.stem: path for path in sorted((RESOURCES / "vignettes").glob("*.yaml"))}
PROMPT_SETS = {path.stem: path for path in sorted((RESOURCES / "prompts").glob("*.yaml"))}

#: Flows of each design, and the published file with the same flows in the same order.
DESIGNS = {
    "iot": (6912, "iot"),
    "coppa": (1800, "coppa"),
    "internet_1": (100, "web1"),
    "internet_2": (500, "web2"),
    "internet_3": (500, "web3"),
    "internet_4": (500, "web4"),
    "internet_5": (500, "web5"),
    "internet_6": (100, "web6"),
    "location_1": (288, "loc1"),
    "location_2": (1440, "loc2"),
    "location_3": (1440, "loc3"),
    "public_records": (48, "pubrec"),
    "social_contract": (1200, "contract"),
}

#: SHA-256 of the authors' vignettes, joined by line breaks: the file without, then with the null principle's.
PUBLISHED_TEXT = {
    "iot": (
        "b62aaed0688f16f8ccb1da2a882a91d1e81d76d85fbf0332d1cf132d4e12d20c",
        "6d9b8e7b5f6faa9eb30af845ba56cc882c384e79cadf2364d3009f821b5de487",
    ),
    "coppa": (
        "d4528ce5b24784af3bf2ee7b653bf79600e3d967c9825ce436b28550b7c16d15",
        "a57d99d94b505795f60c56f06a968f84aaade18cefea41e82097d15a23f9e319",
    ),
}

#: SHA-256 of the papers' templates, joined by line breaks.
PUBLISHED_TEMPLATES = {
    "chatgpt": "6661d33496789686771cd3e402a53e6b5ac786b4de3ecf28d764314579dbda2b",
    "confaide": "1b9b753da89e841c9289254e2a83c0e106c699a3bc16460a6915aa1a3bf5f99f",
    "gemini": "692c34c07df889d6705d6f18629108b723cc46b8b1770fcc27c4891b4640bb0b",
    "pegasus": "c7b791d4b7df6861c7f0b84666e4d6ec5cc1677235c1315e4eab8b6071c6a75e",
}


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.fixture(scope="module")
def vignettes() -> dict[str, list[str]]:
    return {name: expand(load_dataset(DATASETS[name]).design)["vignette"].tolist() for name in DESIGNS}


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_loads(name):
    dataset = load_dataset(DATASETS[name])
    assert shipped(dataset.scale).name == dataset.scale
    assert dataset.n_flows() > 0
    assert (dataset.source == "design") == (name in {*DESIGNS, "chatbot", "education"})


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_has_as_many_flows_as_published(name, vignettes):
    assert len(vignettes[name]) == load_dataset(DATASETS[name]).n_flows() == DESIGNS[name][0]
    assert len(set(vignettes[name])) == len(vignettes[name])


@pytest.mark.parametrize(("name", "more"), [("iot", 576), ("coppa", 120)])
def test_iot_and_coppa_are_the_authors_text(name, more, vignettes):
    plain, with_null = PUBLISHED_TEXT[name]
    assert digest(vignettes[name]) == plain
    frame = expand(load_dataset(DATASETS[name]).design, null_principle=True)
    assert len(frame) == DESIGNS[name][0] + more
    assert digest(frame["vignette"].tolist()) == with_null


FAULTS = {
    "a doubled word": r"\b(\w+)\s+\1\b",
    "a doubled space or line break": r"\s{2}|[\n\t]",
    "stray punctuation": r"\s[,.;:?!)]|[.,;:]\s?[.,;:]|\(\s|,\)",
    "an unrendered brace": r"[{}]|%",
    "a space at an end": r"^\s|\s$",
    "a period at the end, where the templates put one": r"\.$",
    "a small letter after a period": r"(?<!e\.g)(?<!i\.e)\. [a-z]",
    "a wrong article": r"\b[Aa] [aeio]|\b[Aa]n [^aeiouhAEIOUHFLMNRSX8]",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", DESIGNS)
def test_vignettes_are_clean(name, fault, vignettes):
    # "e.g.," is the one place where a comma may follow a period.
    texts = [re.sub(r"\b(e\.g|i\.e)\.,", r"\1", text) for text in vignettes[name]]
    assert [text for text in texts if re.search(FAULTS[fault], text)][:1] == []


@pytest.mark.parametrize(
    ("name", "linked", "n_pairs"),
    [
        ("location_3", ["place", "inference"], 8),
        ("public_records", ["recipient", "subject"], 4),
        ("social_contract", ["place", "channel"], 5),
        ("confaide_2a", ["recipient", "transmission_principle"], 14),
        ("confaide_2b", ["recipient", "transmission_principle"], 14),
    ],
)
def test_linked_factors_have_only_their_pairs(name, linked, n_pairs):
    frame = factor_columns(load_dataset(DATASETS[name]).design)
    pairs = frame.groupby(linked, observed=True).size()
    assert len(pairs) == n_pairs
    assert (pairs == pairs.iloc[0]).all()
    others = [factor for factor in frame.columns if factor not in linked]
    assert (frame.groupby(others, observed=True).size() == n_pairs).all()


def test_the_social_contract_says_what_fits_the_setting(vignettes):
    frame = expand(load_dataset(DATASETS["social_contract"]).design)
    athletic = frame["setting"] == "on a varsity athletic team"
    for text, where in (("locker room", athletic), ("study room", ~athletic)):
        found = frame["vignette"].str.contains(text, regex=False)
        assert found.sum() == 120
        assert where[found].all()
    assert not frame["vignette"].str.contains("team matters").any()
    nothing = frame[frame["access"] == "nothing stated"]
    assert len(nothing) == 400
    assert (nothing["vignette"].str.count(r"\. ") == 2).all()


@pytest.mark.parametrize("name", PUBLISHED_TEMPLATES)
def test_prompt_sets_are_the_papers_text(name):
    prompt_set = load_prompt_set(PROMPT_SETS[name])
    assert len(prompt_set.templates) == 11
    assert digest(list(prompt_set.templates)) == PUBLISHED_TEMPLATES[name]
    assert prompt_set.scale == ("agreement" if name == "confaide" else "acceptability")


FINE = "Judge {scenario}: {options}"


@pytest.mark.parametrize(
    ("templates", "words"),
    [
        ([FINE, "Judge {scenario}"], ["templates[1]", "{options} appears 0 times"]),
        (
            [FINE, "{scenario} {option}"],
            ["templates[1]", "{option} is not a placeholder", "did you mean '{options}'"],
        ),
        ([FINE, "judge  {scenario}: {options} "], ["templates[1]", "same wording as templates[0]"]),
    ],
)
def test_a_wrong_prompt_set_gives_one_message_with_file_and_key(tmp_path, templates, words):
    origin = {"citation": "c", "licence": "MIT"}
    stated = {"title": "T", "paraphraser": "nobody", "scale": "agreement", "origin": origin}
    write_yaml(tmp_path / "mine.yaml", {**stated, "templates": templates})
    with pytest.raises(ConfigError) as raised:
        load_prompt_set(tmp_path / "mine.yaml")
    message = str(raised.value)
    assert "\n" not in message
    for word in ["mine.yaml", *words]:
        assert word in message


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DATASETS if name not in DESIGNS])
def test_declared_files_are_in_the_mirror(name, tmp_path, mirror):
    frame = read_vignettes(load_dataset(DATASETS[name]), tmp_path / "cache", mirror)
    assert len(frame) == load_dataset(DATASETS[name]).n_flows()
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_flows_have_the_levels_of_the_published_flow_of_the_same_number(name, tmp_path, mirror):
    ours = expand(load_dataset(DATASETS[name]).design)
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
    parts = frame["vignette"].str.extract(pattern)
    assert (parts[0].str.lower() == frame["information_type"].astype("str")).all()
    assert (parts[1] == frame["recipient"].astype("str")).all()
    mended = (
        parts[2]
        .str.lower()
        .str.replace("offers to", "offer to")
        .str.replace("with you other", "with your other")
    )
    assert (mended == frame["transmission_principle"].astype("str")).all()
    assert frame["expected"].between(-100, 100).all()
    assert frame["expected"].iloc[[0, 59, 97]].tolist() == [1.26, 70.82, -57.53]
