"""The replies that the report shows: every one of them, each text once, cut with its length, harmless as a script."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.answers.read import read_responses, text_hash
from cinorms.prompts.variants import list_variants
from cinorms.report import replies
from cinorms.report.replies import KEPT, write_replies
from cinorms.report.results import CALL, INDEX

from ...asking import make_responses
from ...scales import ACCEPTABILITY

OPTIONS = ACCEPTABILITY.options
PROMPTS = list_variants("set", ["A {scenario}? {options}", "B {scenario}? {options}"], 2, 1)


def written(
    folder: Path, texts: list[str | None], name: str = "x", **read: pd.Series
) -> list[dict[str, Any]]:
    """Write the replies of two variants to each flow and return what each script hands to the page."""
    n = len(texts)
    flow = pd.Series([i // 2 for i in range(n)], dtype="int32")
    frame = make_responses(texts, flow=flow, variant=[PROMPTS["variant"][i % 2] for i in range(n)])
    answers = read_responses(frame, ACCEPTABILITY, prompts=PROMPTS).assign(**read)
    write_replies(frame, answers, PROMPTS, ACCEPTABILITY, folder / name)
    return [unpacked(file) for file in sorted((folder / name).glob("*.js"), key=lambda f: int(f.stem))]


def unpacked(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="ascii")
    assert text.startswith(CALL[0])
    assert text.endswith(CALL[1])
    data: dict[str, Any] = json.loads(
        gzip.decompress(base64.b64decode(text[len(CALL[0]) : -len(CALL[1])], validate=True))
    )
    return data


def shown(part: dict[str, Any], cell: int) -> tuple[Any, ...]:
    text, rule, _, marks = part["readings"][part["at"][cell]]
    said = None if text < 0 else part["texts"][text]
    return said, rule, [said[a:b] for a, b in zip(marks[::2], marks[1::2], strict=True)]


def test_every_reply_is_there_once_with_its_rule_and_the_words_that_were_used(tmp_path):
    readings = [
        ("Neutral", "exact", ["Neutral"]),
        ("Answer: somewhat acceptable!", "label", ["somewhat acceptable"]),
        ("neutral or strongly acceptable", "several_options", ["neutral", "strongly acceptable"]),
        ("Neutral", "exact", ["Neutral"]),
        ("As an AI, no.", "disclaims", ["As an AI"]),
    ]
    (part,) = written(tmp_path, [*(text for text, *_ in readings), None])
    assert [shown(part, cell) for cell in range(5)] == readings
    assert shown(part, 5)[0] is None
    assert len(part["texts"]) == 4
    assert part["codes"][:2] == [2, 3]
    assert part["flows"] == [0, 1, 2]


def test_no_letter_of_a_reply_is_in_a_script_as_it_was_written(tmp_path):
    hostile = '"); hacked = 1; ("</script>\u2028\x00`${1}'
    (part,) = written(tmp_path, [hostile + "neutral", hostile])
    assert [shown(part, cell)[0] for cell in (0, 1)] == [hostile + "neutral", hostile]
    assert hostile not in (tmp_path / "x/0.js").read_text(encoding="utf-8")


def test_a_long_reply_keeps_both_ends_and_says_what_is_left_out(tmp_path):
    start, end = "Neutral is not it. ", " Final answer: strongly acceptable"
    text = start + "x " * 10_000 + "somewhat acceptable" + " y" * 10_000 + end
    (part,) = written(tmp_path, [text, "Neutral"])
    number = part["readings"][part["at"][0]][0]
    said, rule, marks = shown(part, 0)
    assert said == text[:KEPT] + text[-KEPT:]
    assert part["cuts"] == {str(number): [KEPT, len(text) - 2 * KEPT, text_hash(text)]}
    assert (rule, marks) == ("stated_answer", ["strongly acceptable"])


def test_scripts_have_ranges_of_flows_and_equal_studies_have_equal_scripts(tmp_path, monkeypatch):
    monkeypatch.setattr(replies, "MOST_LETTERS", 30)
    said = [f"Answer {i}: {OPTIONS[i % 5]}" for i in range(12)]
    parts = written(tmp_path, said)
    assert len(parts) > 2
    assert [flow for part in parts for flow in part["flows"]] == list(range(6))
    assert [shown(part, cell)[0] for part in parts for cell in range(len(part["at"]))] == said
    about = json.loads((tmp_path / "x" / INDEX).read_text(encoding="utf-8"))
    assert about["last"] == [part["flows"][-1] for part in parts]
    written(tmp_path, said, name="again")
    for file in (tmp_path / "x").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_a_text_that_a_person_or_a_coder_read_has_no_marks(tmp_path):
    rule = pd.Series(["override", "coder gpt-4o-mini"], dtype="category")
    (part,) = written(tmp_path, ["Neutral", "Neutral."], rule=rule)
    assert [reading[-1] for reading in part["readings"]] == [[], []]
