"""A paraphraser that is a model: its requests are in the ledger and under the cap, and no reply is bought twice."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.inference.paraphraser import MAX_MODEL_LEN, ModelParaphraser
from cinorms.inference.questions import PARAPHRASES
from cinorms.inference.store import paid_in
from cinorms.prompts.paraphrase import generate
from cinorms.prompts.paraphrase.generate import freeze, make_request
from cinorms.prompts.paraphrase.paraphrasers import Ask, ParaphraseError, instruction_of
from cinorms.prompts.prompt_sets import load_prompt_set

from ...asking import make_model, make_runtime
from ...faults.conftest import KEY, RATES
from ...faults.server import Endpoint, Fault
from ...scales import ACCEPTABILITY

LIBRARY = Path(__file__).parents[3] / "workflow/lib"
ORIGINAL = "Please indicate how acceptable this scenario is: {scenario}. Answer with one of: {options}"
GOOD = [
    "How acceptable is what follows: {scenario}? Reply with one of these: {options}",
    "Judge the acceptability of this: {scenario}. Give one of the following: {options}",
    "Say how acceptable you find this: {scenario}. Choose among these: {options}",
]
SHARD = f"{PARAPHRASES}mine"
#: A reply costs this (see `RATES`), and the first request could have cost less than this.
PRICE, MOST = 0.012, 0.7


class Study:
    """A study in ``folder`` whose paraphrases a model is asked for, whose entry is ``stated``."""

    def __init__(self, folder: Path, **stated: Any) -> None:
        self.folder, self.out = folder, folder / "frozen" / "mine.yaml"
        declared = {"title": "Mine", "source": "generate", "paraphraser": "a-model", "scale": "acceptability"}
        declared |= {"original": ORIGINAL, "count": 3, "tries": 2, "temperature": 1, "seed": 7}
        path = folder / "mine.yaml"
        path.write_text(yaml.safe_dump(declared), encoding="utf-8")
        model = make_model("a-model", **stated)
        self.request = make_request(load_prompt_set(path), ACCEPTABILITY, {"a-model": model})
        places = {"store": str(folder / "store"), "progress": str(folder / "progress")}
        self.runtime = make_runtime(**places, model="a-model", shard=SHARD, rates=RATES)

    def generate(self, key: str | None = None, **runtime: Any) -> dict[str, Any]:
        """Have the paraphrases made as a job does; return the frozen document."""
        freeze(self.request, ModelParaphraser(self.request, {**self.runtime, **runtime}, key), self.out)
        return yaml.safe_load(self.out.read_text(encoding="utf-8"))

    def capped(self, usd: float) -> dict[str, Any]:
        """Return the runtime of a job whose share of the cap is ``usd``, half of it."""
        file = self.folder / "expected_usd.json"
        file.write_text(json.dumps({SHARD: 1.0, "a-model": 1.0}))
        return {"max_cost_usd": 2 * usd, "expected_usd": str(file)}

    def paid(self) -> dict[tuple[str, str], float]:
        """Return what each job of the study has paid."""
        paid = dict[tuple[str, str], float]()
        for job, usd in paid_in((self.folder / "store").glob("*/*.jsonl"), "s"):
            paid[job] = paid.get(job, 0.0) + usd
        return paid


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture
def study(tmp_path: Path, endpoint: Endpoint) -> Study:
    return Study(tmp_path, **behind(endpoint))


def behind(endpoint: Endpoint, **more: Any) -> dict[str, Any]:
    """Return the entry of a model behind the endpoint."""
    return {"engine": "openai", "source": "gpt-4o-mini", "base_url": endpoint.url, **more}


def says(endpoint: Endpoint, *replies: str) -> None:
    """Let the endpoint answer each request with the next of ``replies``."""
    left = list(replies)
    endpoint.answer = lambda chat: left.pop(0)


def test_a_round_is_one_request_with_its_own_seed_and_the_ledger_has_its_price(study, endpoint):
    says(endpoint, f"1. {GOOD[0]}\n2. nothing\n3. {GOOD[1]}", GOOD[2])
    frozen = study.generate()
    assert frozen["templates"] == [ORIGINAL, *GOOD]
    asks = (Ask((ORIGINAL,), 3, "", 1, 7), Ask((ORIGINAL, *GOOD[:2]), 1, "", 1, 8))
    assert endpoint.bodies == [
        {
            "model": "gpt-4o-mini",
            "temperature": 1,
            "seed": ask.seed,
            "max_tokens": 480,
            "messages": [{"role": "user", "content": instruction_of(ask)}],
        }
        for ask in asks
    ]
    assert study.paid() == {("a-model", SHARD): pytest.approx(2 * PRICE)}
    provenance = frozen["provenance"]
    assert provenance["rounds"][0]["reported"] == {
        "model": "gpt-4o-mini-2024-07-18",
        "system_fingerprint": "fp_planted",
        "finish_reason": "stop",
    }
    assert provenance["paraphraser"] == {"name": "a-model", **behind(endpoint)}
    assert set(provenance["software"]) == {"cinorms", "python", "openai"}


def test_a_reply_is_in_the_store_and_not_bought_twice_after_a_kill(study, endpoint, monkeypatch):
    says(endpoint, GOOD[0], "\n".join(GOOD[1:]))

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(generate, "write_frozen", killed)  # the reply has come, and nothing has its words yet
        with pytest.raises(KeyboardInterrupt):
            study.generate()
    assert not list(study.out.parent.glob("*"))
    assert study.generate()["templates"] == [ORIGINAL, *GOOD]
    assert len(endpoint.bodies) == 2, "the first round came from the store"
    assert sum(study.paid().values()) == pytest.approx(2 * PRICE)


def test_the_cap_of_the_study_holds_for_paraphrases(study, endpoint):
    says(endpoint, GOOD[0])
    with pytest.raises(ParaphraseError, match=r"share of max_cost_usd has 0\.01"):
        study.generate(**study.capped(0.01))
    assert not endpoint.bodies, "nothing is sent that could exceed the cap"
    # What the first round has cost is not there for the second.
    with pytest.raises(ParaphraseError, match=r"max_cost_usd .*\(1 valid paraphrases are kept in") as raised:
        study.generate(**study.capped(0.55))
    assert len(endpoint.bodies) == 1
    says(endpoint, "\n".join(GOOD[1:]))
    study.generate(**study.capped(MOST))
    assert "raise max_cost_usd" in str(raised.value)


def test_a_refused_round_is_shown_and_the_next_run_asks_anew(study, endpoint):
    endpoint.fault = lambda *_: Fault(400, "invalid_value", message='Unknown name "seed"')
    with pytest.raises(ParaphraseError, match='round 2: 400 invalid_value: Unknown name "seed"'):
        study.generate()
    endpoint.fault = lambda *_: None
    says(endpoint, "\n".join(GOOD))
    assert study.generate()["templates"] == [ORIGINAL, *GOOD]
    assert [body["seed"] for body in endpoint.bodies] == [7, 8, 9]


def test_a_reasoning_model_is_sent_neither_temperature_nor_seed(tmp_path, endpoint):
    says(endpoint, "\n".join(GOOD))
    Study(tmp_path, **behind(endpoint, reasoning={"effort": "low", "extra_tokens": 1000})).generate()
    (body,) = endpoint.bodies
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("low", 1480)
    assert not {"temperature", "seed"} & set(body)


def test_a_missing_key_names_its_variable_and_a_checkpoint_has_room_for_a_chat(study):
    with pytest.raises(ParaphraseError, match="variable SOME_KEY is not set"):
        study.generate(key_variable="SOME_KEY")
    runtime = {**study.runtime, "max_model_len": 512}
    assert ModelParaphraser(study.request, runtime, None)._runtime["max_model_len"] == MAX_MODEL_LEN


def test_people_cannot_paraphrase(tmp_path):
    with pytest.raises(ConfigError, match="'a-model' has the engine 'human', which cannot paraphrase"):
        Study(tmp_path, engine="human")


def test_the_command_takes_the_key_from_the_environment_and_a_failure_has_no_traceback(study, endpoint):
    log, runtime = study.folder / "log.txt", {**study.runtime, "key_variable": "SOME_KEY"}
    says(endpoint, KEY, KEY)  # as a paraphrase that is rejected, and shown
    files = ["--out", str(study.out), "--log", str(log), "--checkpoints"]
    given = ["--request", json.dumps(study.request), "--runtime", json.dumps(runtime)]
    done = subprocess.run(
        [sys.executable, "-m", "cinorms.inference.paraphraser", *given, *files],
        env={"PYTHONPATH": str(LIBRARY), "SOME_KEY": KEY},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert endpoint.keys == {f"Bearer {KEY}"}
    assert "[key]" in done.stderr
    assert "round 1: 0 of 3" in log.read_text(encoding="utf-8")
    assert KEY not in done.stderr + log.read_text(encoding="utf-8")
    assert "Traceback" not in done.stderr
