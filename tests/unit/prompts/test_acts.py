"""Prompts that ask for an action: where what was seen stands, in which order, and their keys."""

import hashlib
import json

import pytest

from cinorms.core.errors import ConfigError
from cinorms.inference.questions import KEY_BYTES, Questions
from cinorms.prompts.orders import orders_of
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants, messages

from ...agents import flows
from ...asking import make_request
from ...scales import shipped
from ...snakemake_runs import write_yaml

SCALE = shipped("disclosure")
FINE = "Judge {scenario}: {options}"
TEMPLATE = "Do it. {scenario}\nSeen:\n{seen}\nAct."


def pages(text: str) -> list[int]:
    return [int(line.split()[2]) for line in text.splitlines() if line.startswith("Observation: page")]


def test_a_prompt_holds_instruction_tools_and_what_was_seen_in_runs_of_steps(tmp_path):
    told = flows(tmp_path, 1)["vignette"][0]
    for order, seen in (("012", [0, 1, 2, 3]), ("210", [2, 3, 1, 0]), ("120", [1, 2, 3, 0])):
        (user,) = messages(TEMPLATE, told, orders_of(3).names.index(order), SCALE)
        start = "Do it. Instruction of the user, Ann: Write to Bob about plan 0.\nTools: Mail."
        assert user["content"].startswith(start)
        assert user["content"].endswith(f"Observation: page {seen[-1]} of 0\nAct.")
        assert pages(user["content"]) == seen
    system, user = messages(TEMPLATE, told, 0, SCALE, "instruction_in_system", "Mind privacy.")
    assert system["content"] == "Mind privacy.\n\nDo it.\nSeen:\n\nAct."
    assert pages(user["content"]) == [0, 1, 2, 3]
    assert user["content"].startswith("Instruction of the user")


def test_the_key_of_a_prompt_is_the_digest_of_its_messages_in_their_order(tmp_path):
    spec = make_request(scale=SCALE.plain, n_templates=1)
    questions = Questions.of(spec, flows(tmp_path, 2), list_variants("act", [TEMPLATE], 1, 2))
    chats = [json.dumps(questions.chat(at), ensure_ascii=False).encode() for at in range(4)]
    assert len(set(chats)) == 4
    assert list(map(bytes, questions.keys)) == [
        hashlib.blake2b(chat, digest_size=KEY_BYTES).digest() for chat in chats
    ]


@pytest.mark.parametrize(
    ("scale", "templates", "message"),
    [
        ("disclosure", ["{seen} alone"], r"\[0\]: \{scenario\} appears 0 times; expected exactly once"),
        ("disclosure", [TEMPLATE, "{scenario} {options}"], r"\[1\]: \{options\} is not a placeholder"),
        ("agreement", [FINE, "Judge {scenario}"], r"templates\[1\]: \{options\} appears 0 times"),
        ("agreement", [FINE, "{scenario} {option}"], r"\{option\} is not a placeholder.*'\{options\}'"),
        ("agreement", [FINE, "judge  {scenario}: {options} "], r"\[1\]: .*same wording as templates\[0\]"),
    ],
)
def test_a_wrong_prompt_set_is_one_message(tmp_path, scale, templates, message):
    stated = {"title": "t", "paraphraser": "t", "scale": scale, "templates": templates}
    write_yaml(tmp_path / "own.yaml", {**stated, "origin": {"citation": "own", "licence": "CC0-1.0"}})
    with pytest.raises(ConfigError, match=rf"own\.yaml: [^\n]*{message}"):
        load_prompt_set(tmp_path / "own.yaml")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"printed": "x", "sent": "y"}, r"sent\[0\]: templates\[0\] has no 'x'"),
        ({"templates": [1], "printed": ":", "sent": "."}, r"sent\[0\]: templates\[1\] has no ':'"),
        ({"printed": "{options}", "sent": "x"}, r"templates\[0\]: \{options\} appears 0 times"),
    ],
)
def test_characters_that_were_sent_take_the_place_of_printed_ones(tmp_path, sent, message):
    stated = {"title": "t", "paraphraser": "t", "scale": "agreement", "templates": [FINE], "sent": [sent]}
    write_yaml(tmp_path / "own.yaml", {**stated, "origin": {"citation": "own", "licence": "CC0-1.0"}})
    with pytest.raises(ConfigError, match=message):
        load_prompt_set(tmp_path / "own.yaml")
