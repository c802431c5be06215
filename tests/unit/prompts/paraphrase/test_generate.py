"""Paraphrases: what is checked, what is asked again, what is kept, and what a paraphraser is told."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.prompts.paraphrase.frozen_file import LENGTHS, fault_of
from cinorms.prompts.paraphrase.generate import freeze, make_request
from cinorms.prompts.paraphrase.paraphrasers import (
    CLOSINGS,
    NAMES,
    OPENINGS,
    PARAPHRASERS,
    Ask,
    Candidates,
    ParaphraseError,
    PlantedParaphraser,
    candidates_in,
    combine,
    instruction_of,
    protect,
    restore,
    sentences,
)
from cinorms.prompts.prompt_sets import PLACEHOLDERS, digest, load_prompt_set, part_path

from ....asking import make_model
from ....scales import ACCEPTABILITY, shipped

ORIGINAL = "Please indicate how acceptable this scenario is: {scenario}. Answer with one of: {options}"
GOOD = [
    "How acceptable is what follows: {scenario}? Reply with one of these: {options}",
    "Judge the acceptability of this: {scenario}. Give one of the following: {options}",
    "Say how acceptable you find this: {scenario}. Choose among these: {options}",
]
OPTIONS = ACCEPTABILITY.options


def write_declared(folder: Path, **changes: Any) -> Path:
    document = {
        "title": "Mine",
        "source": "generate",
        "paraphraser": "a-model",
        "scale": "acceptability",
        "original": ORIGINAL,
        "count": 3,
        "tries": 2,
        "temperature": 1,
        "seed": 7,
    } | changes
    path = folder / "mine.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


REGISTRY = {"a-model": make_model("a-model", engine="vllm", source="org/model", revision="abc", rates={})}


def request_for(path: Path) -> dict[str, Any]:
    return make_request(load_prompt_set(path), ACCEPTABILITY, REGISTRY)


class Scripted:
    """A paraphraser that says what it was told to say, round by round, and notes what it was asked."""

    packages = ()
    instruction = "as scripted"

    def __init__(self, *rounds: list[str]) -> None:
        self.rounds = list(rounds)
        self.asked: list[Ask] = []

    def ask(self, ask: Ask) -> Candidates:
        self.asked.append(ask)
        if not self.rounds:
            raise ParaphraseError("the line is dead")
        return Candidates(tuple(self.rounds.pop(0)), {"model": "scripted-1"})


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    return write_declared(tmp_path / "prompts")


@pytest.fixture
def out(declared: Path) -> Path:
    return declared.parent / "frozen" / "mine.yaml"


def stored(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


# --- the checks


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        ("", "it is empty"),
        (f"{GOOD[0]}\nand more", "it has a line break"),
        ("How acceptable is this? Reply with one of these: {options}", "{scenario} appears 0 times"),
        ("How acceptable is {{scenario}}? Reply with one of: {options}", "a brace belongs to no placeholder"),
        ("Is {scenario} Somewhat-Acceptable to you? {options}", "the answer option 'somewhat acceptable'"),
        ("Is {scenario} ok? {options}", "it has 27 characters; allowed: 36 to 225"),
        (GOOD[0] + " really" * 30, "characters; allowed: 36 to 225"),
        (
            ORIGINAL.upper().replace("{SCENARIO}", "{scenario}").replace("{OPTIONS}", "{options}"),
            "the same wording as wording 0 (the original)",
        ),
        (GOOD[1].replace(".", " -- "), "the same wording as wording 1"),
        (
            "Rate how fine this is: {scenario} {options}",
            "runs into the next sentence ('{scenario} {options}')",
        ),
        (GOOD[0], ""),
        ("Is it fine that {scenario} or not? Say one of these: {options}", ""),
        # Words of options that are no option: the scale itself may be named.
        ("Is it acceptable or unacceptable that {scenario}? Reply with strictly one of {options}", ""),
        ("How neutrally would you judge {scenario}? Pick somewhat quickly one of {options}", ""),
        ("Is « ceci » acceptable à tes yeux: {scenario}? Reply – en bref – with: {options}", ""),
    ],
)
def test_a_faulty_candidate_is_refused_with_its_reason(candidate, reason):
    fault = fault_of(candidate, [ORIGINAL, GOOD[1]], OPTIONS)
    assert reason in fault if reason else fault is None


@pytest.mark.parametrize("name", ["chatgpt", "gemini", "pegasus", "confaide"])
def test_every_published_paraphrase_would_have_been_taken(folder, name):
    prompt_set = load_prompt_set(folder / f"resources/prompts/{name}.yaml")
    templates, options = prompt_set.templates, shipped(prompt_set.scale).options
    assert [fault_of(templates[n], templates[:n], options) for n in range(1, len(templates))] == [None] * 10
    ratios = [len(template) / len(templates[0]) for template in templates]
    assert LENGTHS[0] < min(ratios) <= max(ratios) < LENGTHS[1]


@pytest.mark.parametrize("scale", OPENINGS)
def test_every_planted_rewording_is_valid_beside_all_others_and_the_seed_orders_them(folder, scale):
    name = {"acceptability": "chatgpt", "agreement": "confaide"}[scale]
    original = load_prompt_set(folder / f"resources/prompts/{name}.yaml").templates[0]
    paraphraser = PlantedParaphraser({"name": "p"})
    first, again, other = (paraphraser.ask(Ask((original,), 5, scale, 1, seed)) for seed in (1, 1, 2))
    assert first == again != other
    every = paraphraser.ask(Ask((original,), 99, scale, 1, seed=3)).texts
    assert len(every) == len(OPENINGS[scale]) * len(CLOSINGS) == 36
    taken = [original]
    for candidate in every:
        assert fault_of(candidate, taken, shipped(scale).options) is None
        taken.append(candidate)
    assert paraphraser.ask(Ask(tuple(taken), 5, scale, 1, seed=3)).texts == ("",)


# --- asking, asking again, freezing


def test_bad_ones_first_then_good_ones_and_more_than_were_asked_for(declared, out):
    more = "Is this acceptable to you: {scenario}? Say one of {options}"  # than were asked for
    bad = ["Here are three:", GOOD[0].upper(), "no {options}" + "x" * 500]
    scripted = Scripted([bad[0], GOOD[0], bad[1]], [bad[2], *GOOD[1:], more])
    request, before = request_for(declared), load_prompt_set(declared)
    assert (before.n_templates, before.templates) == (4, (ORIGINAL,))
    freeze(request, scripted, out)
    assert scripted.asked == [
        Ask((ORIGINAL,), 3, "acceptability", 1, 7),
        Ask((ORIGINAL, GOOD[0]), 2, "acceptability", 1, 8),
    ]
    provenance = stored(out)["provenance"]
    assert provenance["templates_sha256"] == digest([ORIGINAL, *GOOD])
    rounds = [(r["asked"], r["returned"], r["accepted"]) for r in provenance["rounds"]]
    assert rounds == [(3, 3, 1), (2, 4, 2)]
    rejected = [(1, bad[0]), (1, bad[1]), (2, f"{bad[2][:500]} ...")]
    assert [(r["round"], r["candidate"]) for r in provenance["rejected"]] == rejected
    who = {"name": "a-model", "engine": "vllm", "source": "org/model", "revision": "abc"}
    assert (provenance["paraphraser"], provenance["instruction"]) == (who, "as scripted")
    assert provenance["rounds"][0]["reported"] == {"model": "scripted-1"}
    assert set(provenance["software"]) == {"cinorms", "python"}
    assert not part_path(out).exists()
    # It is read like a published one, and nobody is asked again.
    for path in (declared, out):
        prompt_set = load_prompt_set(path)
        assert (prompt_set.name, prompt_set.paraphraser, prompt_set.generate) == ("mine", "a-model", None)
        assert (prompt_set.templates, prompt_set.n_templates) == ((ORIGINAL, *GOOD), 4)
    written = out.read_bytes()
    freeze(request, Scripted(), out)
    assert out.read_bytes() == written


def test_too_few_name_what_failed_and_the_next_run_asks_for_the_missing_only(declared, out):
    request, part = request_for(declared), part_path(out)
    scripted = Scripted([GOOD[0], "no placeholders"], ["Is {scenario} neutral? One of these: {options}"])
    with pytest.raises(ParaphraseError) as raised:
        freeze(request, scripted, out)
    assert str(raised.value).splitlines()[:3] == [
        "resources/prompts/mine.yaml: 1 of 3 paraphrases by a-model are valid, 2 missing after round 2. Rejected:",
        "  round 1: {scenario} appears 0 times; expected exactly once: 'no placeholders'",
        "  round 2: it names the answer option 'neutral': 'Is {scenario} neutral? One of these: {options}'",
    ]
    assert f"The valid ones are kept in {part}: run again" in str(raised.value)
    assert not out.exists()
    # What was valid is kept where the paraphraser cannot be asked any more, too.
    with pytest.raises(
        ParaphraseError, match=r"the line is dead \(1 valid paraphrases are kept in .*part.yaml"
    ):
        freeze(request, Scripted(), out)
    again = Scripted(GOOD[1:])
    freeze(request, again, out)
    assert (again.asked[0].wanted, again.asked[0].seed) == (2, 9)
    provenance = stored(out)["provenance"]
    assert [r["accepted"] for r in provenance["rounds"]] == [1, 0, 2]
    assert len(provenance["rejected"]) == 2


def test_nobody_is_asked_where_a_lower_count_is_kept_already(declared, out):
    with pytest.raises(ParaphraseError):
        freeze(request_for(declared), Scripted(GOOD[:2]), out)
    freeze(request_for(write_declared(declared.parent, count=1)), Scripted(), out)
    document = stored(out)
    assert (document["templates"], document["provenance"]["generated"]) == ([ORIGINAL, GOOD[0]], GOOD[:1])


@pytest.mark.parametrize("edited", [False, True])
def test_a_part_of_another_request_or_one_that_was_edited_is_set_aside(declared, out, edited):
    with pytest.raises(ParaphraseError):
        freeze(request_for(declared), Scripted(GOOD[:1]), out)
    part = part_path(out)
    if edited:
        part.write_text(part.read_text("utf-8").replace("Reply with", "Answer by"), encoding="utf-8")
    else:
        write_declared(declared.parent, temperature=0.5)
    held = part.read_bytes()
    scripted = Scripted(GOOD)
    freeze(request_for(declared), scripted, out)
    assert scripted.asked[0].templates == (ORIGINAL,)
    assert [path.read_bytes() for path in out.parent.glob("mine.part.yaml.*")] == [held]


# --- what a user can get wrong


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("seed", 8, "seed: 8 differs from 7"),
        ("original", "Judge this scenario: {scenario}. Answer with one of: {options}", "original: "),
        ("count", 2, "wordings again, or move it to"),
    ],
)
def test_a_changed_declaration_is_not_taken_for_the_frozen_one(declared, out, key, value, words):
    freeze(request_for(declared), Scripted(GOOD), out)
    write_declared(declared.parent, **{key: value})
    with pytest.raises(ConfigError) as raised:
        load_prompt_set(declared)
    for part in (words, "mine.yaml", "frozen", "delete"):
        assert part in str(raised.value)
    write_declared(declared.parent, tries=9, title="Another title")
    assert load_prompt_set(declared).templates == (ORIGINAL, *GOOD)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": "generated"}, ["source", "did you mean 'generate'"]),
        ({"original": "Judge {scenario}."}, ["original", "{options} appears 0 times"]),
        ({"original": f"Neutral: {ORIGINAL}"}, ["original: it names the answer option 'neutral'"]),
        ({"paraphraser": "a-modle"}, ["'a-modle' is not a paraphraser; did you mean 'a-model'"]),
        ({"paraphraser": "pegasus"}, ["key 'checkpoint' is missing", "tuner007/pegasus_paraphrase"]),
        ({"checkpoint": {"source": "x"}}, ["checkpoint", "only 'pegasus' does"]),
        ({"paraphraser": "pegasus", "checkpoint": {"source": "x"}, "temperature": 0}, ["temperature: "]),
    ],
)
def test_a_wrong_declaration_gives_one_message(tmp_path, changes, words):
    with pytest.raises(ConfigError) as raised:
        request_for(write_declared(tmp_path, **changes))
    message = str(raised.value)
    assert [part for part in ("mine.yaml", *words) if part not in message] == []
    assert "\n" not in message


# --- what models are told, and what is read out of their replies


def test_a_model_is_told_the_original_and_what_there_is_already():
    first = instruction_of(Ask((ORIGINAL,), 10, "acceptability", 1, 7))
    assert "in 10 different ways" in first
    assert first.endswith(f"Template:\n{ORIGINAL}\n")
    again = instruction_of(Ask((ORIGINAL, GOOD[0], GOOD[1]), 8, "acceptability", 1, 8))
    assert f"write others:\n{GOOD[0]}\n{GOOD[1]}" in again
    assert "<" not in again
    assert not any(option in again for option in OPTIONS)


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        (f"{GOOD[0]}\n\n{GOOD[1]}\n", [GOOD[0], GOOD[1]]),
        (f"1. {GOOD[0]}\n 2) {GOOD[1]}\n- {GOOD[2]}", GOOD),
        (f'"{GOOD[0]}"\n“{GOOD[1]}”\n`{GOOD[2]}`', GOOD),
        ('Say "yes" or "{options}"', ['Say "yes" or "{options}"']),
        ('"{scenario}" or "{options}"', ['"{scenario}" or "{options}"']),
        ("<think>\nMaybe {scenario} {options}\n</think>\n" + GOOD[0], [GOOD[0]]),
        ("<think>\nI never stop", [""]),
        ("", [""]),
    ],
)
def test_candidates_are_the_lines_of_a_reply(text, candidates):
    assert list(candidates_in(text)) == candidates
    assert list(candidates_in(f"{text}\n{GOOD[2]}", cut_off=True)) == candidates


# --- PEGASUS without its weights


def test_placeholders_are_hidden_and_come_back():
    hidden, names = protect(ORIGINAL)
    assert not any(placeholder in hidden for placeholder in PLACEHOLDERS)
    assert restore(hidden, names) == ORIGINAL
    assert restore(hidden.lower(), names) == ORIGINAL.lower()
    assert "{options}" not in restore(hidden.replace(names["{options}"], "something else"), names)
    _, other = protect(f"In Zanzibar, {ORIGINAL}")
    assert other["{scenario}"] == NAMES["{scenario}"][1]
    with pytest.raises(ConfigError, match="Zanzibar and Samarkand"):
        protect(f"From Zanzibar to Samarkand: {ORIGINAL}")


def test_sentences_are_split_and_put_together_again():
    assert sentences(ORIGINAL) == [
        "Please indicate how acceptable this scenario is: {scenario}.",
        "Answer with one of: {options}",
    ]
    assert sentences("It said (e.g. so). {options}") == ["It said (e.g. so). {options}"]
    choices = [["a", "b", "c"], ["d", "e"]]
    assert combine(choices, 4, seed=1) == combine(choices, 4, seed=1)
    assert sorted(combine(choices, 99, seed=1)) == ["a d", "a e", "b d", "b e", "c d", "c e"]


def test_without_its_packages_pegasus_says_which_environment_has_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"envs/paraphrase\.yaml, or run `make \.venv-paraphrase/done`"):
        PARAPHRASERS["pegasus"]({"engine": "pegasus", "name": "m", "source": "s"})
