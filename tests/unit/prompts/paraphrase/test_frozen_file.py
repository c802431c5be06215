"""A frozen file and its reader: what waits, what confirming records, and what an edit may not be."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.core.yaml_files import load_yaml
from cinorms.prompts.paraphrase.frozen_file import confirm, fault_of, run_on_fault
from cinorms.prompts.paraphrase.generate import freeze, make_request
from cinorms.prompts.paraphrase.paraphrasers import PlantedParaphraser
from cinorms.prompts.prompt_sets import insist_on_confirmed, load_prompt_set, part_path

from ....scales import ACCEPTABILITY
from .test_generate import GOOD, ORIGINAL, REGISTRY, Scripted, request_for, stored, write_declared

MENDED = "Tell me how acceptable this would be: {scenario}. Reply with one of: {options}"


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CINORMS_YES", raising=False)
    declared = write_declared(tmp_path / "prompts")
    path = declared.parent / "frozen/mine.yaml"
    freeze(request_for(declared), Scripted(GOOD), path)
    return path


def edit(path: Path, number: int, text: str | None) -> None:
    document = load_yaml(path)
    document["templates"][number : number + 1] = [text] if text else []
    path.write_text(yaml.safe_dump(document))


def test_what_was_just_frozen_waits_and_confirming_changes_no_template(out):
    before = load_prompt_set(out.parents[1] / "mine.yaml")
    assert before.waits == "unread"
    with pytest.raises(ConfigError) as raised:
        insist_on_confirmed(before)
    start, do = str(raised.value).split("\n")
    assert start == f"{out}: these paraphrases wait for you: nobody has read them yet."
    assert "make confirm" in do
    confirm(out, read=True)
    after = load_prompt_set(out)
    assert (after.templates, after.waits) == (before.templates, None)
    insist_on_confirmed(after)
    provenance = stored(out)["provenance"]
    assert (provenance["confirmed"]["how"], provenance["generated"]) == ("read", GOOD)
    assert "mended" not in provenance


def test_a_mended_template_carries_that_and_the_paraphrasers_words_stay(out):
    edit(out, 2, MENDED)
    assert load_prompt_set(out).waits == "edited"
    confirm(out, read=True)
    document = stored(out)
    assert load_prompt_set(out).waits is None
    assert document["templates"][2] == MENDED
    assert document["provenance"]["generated"] == GOOD
    assert [record["templates"] for record in document["provenance"]["mended"]] == [[2]]
    edit(out, 3, MENDED.replace("Tell", "Just tell"))
    confirm(out, read=False)
    assert [record["templates"] for record in stored(out)["provenance"]["mended"]] == [[2], [2, 3]]


def test_the_environment_may_accept_them_unread(out, monkeypatch):
    monkeypatch.setenv("CINORMS_YES", "0")
    with pytest.raises(ConfigError):
        insist_on_confirmed(load_prompt_set(out))
    monkeypatch.setenv("CINORMS_YES", "1")
    insist_on_confirmed(load_prompt_set(out))
    out.unlink()
    freeze(request_for(out.parents[1] / "mine.yaml"), Scripted(GOOD), out)
    assert stored(out)["provenance"]["confirmed"]["how"] == "unread"
    monkeypatch.delenv("CINORMS_YES")
    insist_on_confirmed(load_prompt_set(out))


def test_planted_paraphrases_wait_for_nobody(out):
    out.unlink()
    declared = out.parents[1] / "mine.yaml"
    request = make_request(load_prompt_set(declared), ACCEPTABILITY, REGISTRY, planted=True)
    freeze(request, PlantedParaphraser(request["paraphraser"]), out)
    assert load_prompt_set(declared).waits is None
    assert stored(out)["provenance"]["confirmed"]["how"] == "planted"
    assert stored(out)["origin"]["note"] == "Planted rewordings from a fixed list: no model was asked."


@pytest.mark.parametrize(
    ("number", "text", "words"),
    [
        (0, GOOD[0].replace("?", "!"), "templates[0]: differs from the original"),
        (1, "Judge this: {scenario}. One of: {options}, neutral if unsure", "answer option 'neutral'"),
        (1, GOOD[1].replace("Judge", "JUDGE"), "same wording"),
        (2, None, "has 2 paraphrases, expected 3; write the missing ones by hand"),
    ],
)
def test_an_edit_must_pass_the_checks_of_a_paraphrase(out, number, text, words):
    edit(out, number, text)
    before = out.read_bytes()
    with pytest.raises(ConfigError) as raised:
        confirm(out, read=True)
    assert words in str(raised.value)
    assert str(out) in str(raised.value)
    assert out.read_bytes() == before


def test_more_paraphrases_wait_again_and_keep_what_was_mended(out):
    edit(out, 2, MENDED)
    confirm(out, read=True)
    out.rename(part_path(out))
    declared = write_declared(out.parents[1], count=4)
    more = "In your view, how acceptable is this: {scenario}? Name one of: {options}"
    freeze(request_for(declared), Scripted([more]), out)
    found = load_prompt_set(declared)
    assert found.waits == "unread"
    assert found.templates == (ORIGINAL, GOOD[0], MENDED, GOOD[2], more)
    provenance: dict[str, Any] = stored(out)["provenance"]
    assert provenance["generated"] == [*GOOD, more]
    assert provenance["mended"][0]["templates"] == [2]


def test_a_paraphraser_may_leave_out_the_full_stop_only_where_the_original_does():
    candidate = "How acceptable is this situation? {scenario} Pick one: {options}"
    bare = "Please judge how acceptable this is, in one of these: {options} {scenario}"
    faults = [fault_of(candidate, [original], ACCEPTABILITY.options) for original in (ORIGINAL, bare)]
    assert faults == [
        "the vignette runs into the next sentence ('{scenario} Pick'); put a full stop after {scenario}",
        None,
    ]
    assert run_on_fault("A new line is a mark too: {scenario}\nThe answer is one of {options}") is None
