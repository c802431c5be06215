"""Responses answer a prompt exactly or not at all; everything that is left over is counted and listed."""

import json
from pathlib import Path
from typing import Any

import pytest

from cinorms.core.errors import DataError
from cinorms.exchange.importing import anonymous, import_responses
from cinorms.exchange.registry import format_named
from cinorms.exchange.way import prompt_hash

from ...exchange_runs import arm, planted_lines, planted_responses, take

JOKE = "Tell me a joke."


def imported(tmp_path: Path, lines: list[dict[str, Any]], **changes: Any) -> Any:
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return take("plain", path, **changes)


def test_a_prompt_without_a_response_is_absent_and_listed(tmp_path):
    lines = planted_lines()
    found = imported(tmp_path, lines[3:])
    assert (len(found.responses), found.reasons) == (21, {"not_received": 3})
    assert found.message("m", "u.csv") == (
        "m: 21 of 24 prompts have a response; 3 were not received. They are listed in u.csv"
    )
    assert found.unmatched["text"].isna().all()
    key = found.unmatched[["flow", "template", "order"]].to_numpy(dtype=int)
    named = [line["id"].rpartition(".")[0] for line in lines[:3]]
    assert [f"{flow}.{template}_{order}" for flow, template, order in key] == named


@pytest.mark.parametrize("change", [{"text": "I changed my mind: neutral"}, {"finish_reason": "length"}])
def test_a_repeat_counts_once_and_a_contradiction_not_at_all(tmp_path, change):
    lines = planted_lines()
    other = {**lines[1], **change}
    found = imported(tmp_path, [*lines, lines[0], other])
    assert found.reasons == {"contradicting": 2, "not_received": 1, "repeated": 1}
    assert len(found.responses) == 23
    ((column, value),) = change.items()
    assert value not in set(found.responses[column])
    listed = found.unmatched.set_index("reason")
    assert listed.loc["repeated", "line"] == 25
    assert sorted(listed.loc["contradicting", "line"]) == [2, 26]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": None, "flow": "9" * 9, "template": 0, "order": 0}, "unknown_numbers"),
        ({"id": None, "prompt_sha256": "0" * 64}, "unknown_prompt"),
        ({"id": None, "prompt_sha256": "abc"}, "unknown_prompt"),
        ({"id": None, "input": "What is the capital of France?"}, "unknown_prompt"),
        ({"prompt_sha256": "0" * 64}, "other_prompt"),
        ({"prompt_sha256": "abc"}, "other_prompt"),
    ],
)
def test_a_foreign_prompt_is_never_guessed(tmp_path, changes, reason):
    lines = planted_lines()
    found = imported(tmp_path, [{**lines[0], **changes}, *lines[1:]])
    assert found.reasons == {"not_received": 1, reason: 1}


@pytest.mark.parametrize("keys", [["id"], ["flow", "template", "order"], ["prompt_sha256"]], ids="".join)
@pytest.mark.parametrize("recorded", ["text", "messages"])
def test_a_response_to_another_prompt_is_not_used_whatever_names_it(tmp_path, keys, recorded):
    lines = []
    for prompt in planted_responses()[0].prompts():
        named = {key: getattr(prompt, key.removeprefix("prompt_")) for key in keys}
        lines.append({**named, "text": "neutral", "input": getattr(prompt, recorded)})
    assert imported(tmp_path, lines).reasons == {}
    # The prompt of the next question: only the scenario or the order of the options differs.
    lines[2]["input"] = lines[3]["input"]
    lines[5]["input"] = {"text": JOKE, "messages": [{"role": "user", "content": JOKE}]}[recorded]
    found = imported(tmp_path, lines)
    assert found.reasons == {"asked_otherwise": 2, "not_received": 2}
    assert "(asked_otherwise 2). They are listed in u.csv" in found.message("m", "u.csv")
    listed = found.unmatched.set_index("reason").loc["asked_otherwise"]
    assert listed[["file", "line"]].to_numpy().tolist() == [["r.jsonl", 3], ["r.jsonl", 6]]
    lines = [{**line, "input": lines[5]["input"]} for line in lines]
    with pytest.raises(DataError, match=r"asked_otherwise 24; the first: r\.jsonl line 1, asked_otherwise"):
        imported(tmp_path, lines)


def test_white_space_of_a_recorded_prompt_does_not_count_and_every_word_does(tmp_path):
    prompts = list(planted_responses()[0].prompts())
    lines = [{"id": p.id, "text": "neutral", "input": f" {p.text}\r\n"} for p in prompts]
    assert imported(tmp_path, lines).reasons == {}
    lines[0]["input"] += "Answer in one word."
    lines[1]["input"] = prompts[1].messages[1:]  # without the instruction
    assert imported(tmp_path, lines).reasons == {"asked_otherwise": 2, "not_received": 2}
    for other in (17, [*prompts[0].messages, "x"]):
        with pytest.raises(
            DataError, match=r"line 1 has .* as 'input', which is neither a text nor messages"
        ):
            imported(tmp_path, [{**lines[0], "input": other}])


def test_a_key_is_redacted_in_every_text_that_is_kept(tmp_path):
    key, lines = "sk-0123456789", planted_lines()
    lines[0] |= {"text": f"neutral {key}", "finish_reason": f"stop {key}"}
    lines[0] |= {"model": f"m {key}", "temperature": 0}
    lines[1] |= {"id": None, "prompt_sha256": key, "text": key}
    imported(tmp_path, lines)
    found = import_responses(format_named("plain"), [tmp_path / "r.jsonl"], *arm(), None, [key, "neut"])
    assert found.responses.loc[0, ["text", "finish_reason"]].tolist() == ["neutral [key]", "stop [key]"]
    row = found.unmatched.iloc[0]
    assert row[["reason", "sha256", "text"]].tolist() == ["unknown_prompt", "[key]", "[key]"]
    assert json.loads(found.metadata["elsewhere"])["stated"] == {"model": ["m [key]"], "temperature": [0]}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("key sk-proj-abcdefghijklmnop1234 here", "key [key] here"),
        ("Authorization: Bearer abcdefghijklmnop.qrstuvwx", "Authorization: Bearer [key]"),
        ("hf_abcdefghijklmnopqrstuvwxyz", "[key]"),
        ("/home/maria/logs/a.eval", "/home/[user]/logs/a.eval"),
        ("C:\\Users\\Maria Lopez\\x", "C:\\Users\\[user]\\x"),
        ("/Users/maria", "/Users/[user]"),
        ("Neutral: the home of a user, sk-ip it", "Neutral: the home of a user, sk-ip it"),
    ],
)
def test_what_looks_like_a_key_or_names_a_home_folder_is_marked(text, kept):
    assert anonymous(text) == kept


def test_a_prompt_of_several_questions_needs_their_numbers(tmp_path):
    prompts = list(planted_responses(order_method="fixed")[0].prompts())
    lines = [{"input": prompt.text, "text": "neutral"} for prompt in prompts]
    with pytest.raises(DataError, match=r"none of the 24 responses answers .* prompts \(shared_prompt 24"):
        imported(tmp_path, lines, order_method="fixed")
    named = [{"id": prompt.id, "text": "neutral"} for prompt in prompts]
    assert imported(tmp_path, named, order_method="fixed").reasons == {}
    assert prompts[0].sha256 == prompts[1].sha256 == prompt_hash(prompts[0].text)


def test_a_file_of_another_study_is_refused(tmp_path):
    with pytest.raises(DataError) as caught:
        imported(tmp_path, planted_lines(seed=99), order_method="random")
    first, advice = str(caught.value).splitlines()
    assert first.endswith(
        "r.jsonl: none of the 24 responses answers one of the arm's 24 prompts (other_prompt 24; the first: r.jsonl "
        "line 1, other_prompt)."
    )
    assert advice.startswith("Use the file of this arm and model; ")
    with pytest.raises(DataError, match=r"has no response; export it again"):
        imported(tmp_path, [])
