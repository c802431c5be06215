"""Hostile files by the thousand: what is wrong is one message, or harmless, and never a traceback.

``CINORMS_FUZZ=1000 pytest tests/faults/test_fuzz.py`` tries a thousand of each kind; the seeds are the same every time.
"""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from cinorms.core.errors import CinormsError
from cinorms.core.root import Root
from cinorms.exchange.registry import format_named
from cinorms.gate.policy import load_policy
from cinorms.human.ratings import read_ratings
from cinorms.human.survey import load_survey
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.journal import Journal
from cinorms.inference.questions import Questions
from cinorms.study.load import load_study, read_layers

from ..exchange_runs import planted_lines
from .conftest import spec, variants, vignettes
from .test_study_files import GOOD

ROOT = Path(__file__).parents[2]
#: Files of each kind.
N = int(os.environ.get("CINORMS_FUZZ", "40"))
POLICY = (ROOT / "examples/gate/quantisation.yaml").read_text(encoding="utf-8")
SURVEY = (
    (ROOT / "resources/ratings/planted_people.yaml")
    .read_text(encoding="utf-8")
    .replace("2304", "59")
    .replace("raters: 40", "raters: 33")
)
RATINGS = (ROOT / "resources/ratings/planted_people.csv").read_text(encoding="utf-8").splitlines()[:60]
FLOWS = pd.DataFrame({"flow": pd.array(range(9000), dtype="int32")})
#: Values that a file does not expect where they are.
ODD = [
    "null",
    "-1",
    "1e999",
    "yes",
    "[]",
    "{}",
    "''",
    "a" * 3000,
    ".nan",
    "0.5",
    "1_0",
    "0x1F",
    "2026-01-01",
    "\u202e",
    "9" * 40,
]
SIGNS = "\t\"'{}[]&*!%@`\\#,:;|>\x07\u2028\u00e9\ud800\x00\ufeff"


def spoilt(text: str, chance: random.Random) -> bytes:
    """Return a text with a few lines, characters or bytes changed."""
    lines = text.splitlines()
    for _ in range(chance.randint(1, 3)):
        at, way = chance.randrange(len(lines)), chance.randrange(6)
        line = lines[at]
        place = chance.randrange(len(line) + 1)
        if way == 0 and len(lines) > 1:
            del lines[at]
        elif way == 1:
            lines.insert(at, chance.choice(lines))
        elif way == 2:
            lines[at] = line[:place] + chance.choice(SIGNS) + line[place:]
        elif way == 3:
            key, colon, _ = line.partition(chance.choice([":", ","]))
            lines[at] = f"{key}{colon} {chance.choice(ODD)}"
        elif way == 4:
            lines[at] = line[:place]
        else:
            lines[at] = "  " * chance.randrange(4) + line
    content = bytearray("\n".join(lines).encode("utf-8", "surrogatepass") + b"\n")
    if chance.random() < 0.2:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(content[: chance.randrange(len(content))] if chance.random() < 0.1 else content)


def a_study(folder: Path, chance: random.Random) -> None:
    path = folder / "study.yaml"
    path.write_bytes(spoilt(GOOD, chance))
    root = Root(ROOT)
    load_study(read_layers([path], root), root)


def a_policy(folder: Path, chance: random.Random) -> None:
    path = folder / "policy.yaml"
    path.write_bytes(spoilt(POLICY, chance))
    load_policy(path)


def ratings(folder: Path, chance: random.Random) -> None:
    (folder / "planted_people.csv").write_bytes(spoilt("\n".join(RATINGS), chance))
    (folder / "people.yaml").write_bytes(spoilt(SURVEY, chance) if chance.random() < 0.5 else SURVEY.encode())
    survey = load_survey(folder / "people.yaml")
    read_ratings(survey, "", folder / "planted_people.csv", FLOWS, (-2, -1, 0, 1, 2), {})


def an_import(folder: Path, chance: random.Random) -> None:
    lines = [{**line, "custom_id": line["id"]} for line in planted_lines()[:20]]
    path = folder / "received.jsonl"
    path.write_bytes(spoilt("\n".join(map(json.dumps, lines)), chance))
    for name in ("plain", "openai_batch"):
        try:
            list(format_named(name).read(path))
        except CinormsError as error:
            check_message(error, path.name)


def a_journal(folder: Path, chance: random.Random) -> None:
    """Spoil a part, the settings, a log or a record of a journal that a killed job has left; and read on."""
    asked = Questions.of(spec(None, base_url="http://127.0.0.1:1/v1"), vignettes(3), variants())
    journal = Journal.at(folder, asked.spec).begin()
    replies = CollectedReplies(asked, journal)
    rows = [{"at": at, "text": f"answer {at}", "finish_reason": "stop"} for at in range(9)]
    replies.keep(pd.DataFrame(rows[:5], dtype=object))
    replies.log(rows[5:])
    journal.log.close()
    journal.end_run(journal.start_run({}), "failed", {})
    path = chance.choice(sorted(path for path in journal.folder.rglob("*") if path.is_file()))
    content = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 4)):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content[: chance.randrange(len(content) + 1)] if chance.random() < 0.3 else content)
    again = Journal.at(folder, asked.spec).begin()
    with again.hold([(0, 0)]):
        later = CollectedReplies(asked, again)
        later.recall()
        assert later.n_answered >= 3, "one file was changed: the others keep what they have"
        texts = again.read()["text"].to_pylist()
    assert set(texts) <= {row["text"] for row in rows}, "a changed reply was believed"


KINDS: dict[str, Callable[[Path, random.Random], None]] = {
    "study": a_study,
    "policy": a_policy,
    "ratings": ratings,
    "import": an_import,
    "journal": a_journal,
}


def check_message(error: CinormsError, name: str) -> None:
    message = str(error)
    assert name in message, message
    assert len(message) < 2_000, message
    assert len(message.splitlines()) <= 6, message
    assert "Traceback" not in message


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_file_is_one_message_or_harmless(kind, tmp_path, record_property):
    refused = 0
    for seed in range(N):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            KINDS[kind](folder, random.Random(f"{kind} {seed}"))
        except CinormsError as error:
            refused += 1
            check_message(error, {"study": "study.yaml", "policy": "policy.yaml"}.get(kind, ""))
        except Exception as error:
            raise AssertionError(f"{kind}, seed {seed}: {type(error).__name__}: {error}") from error
    record_property("files", N)
    record_property("refused", refused)
    assert refused or kind in ("import", "journal")
