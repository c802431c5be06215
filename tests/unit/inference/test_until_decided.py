"""Asked until decided, in a job: whatever happens to it, the same file; what was not asked has a status of its own."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.ask import write_shard
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.scales import papers_scale
from cinorms.entries.files import part_asked
from cinorms.inference.collected_replies import check_complete
from cinorms.inference.journal import Asker, Journal, sample_settings
from cinorms.inference.questions import Questions
from cinorms.inference.until_decided import add_not_asked, design_of, rounds_of, rule_of
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.prompts.variants import list_variants
from cinorms.stats.deciding.rounds import DecidingRule, Rounds

from ...engines import Answering, Rows
from ...scales import ORDERS, shipped
from ...specs import make_flows, make_spec

SCALE = papers_scale("acceptability")
THRESHOLDS = Thresholds(4, 0.5, "strict")
LEVELS = [(a, b) for a, b in product(range(12), range(25))]
VIGNETTES = make_flows(
    [f"sender {a} shares {b}" for a, b in LEVELS],
    sender=pd.Categorical([f"s{a}" for a, _ in LEVELS]),
    type=pd.Categorical([f"t{b}" for _, b in LEVELS]),
)
TEMPLATES = [f"{number}. {{scenario}} {{options}}" for number in range(4)]
VARIANTS = list_variants("p", TEMPLATES, 4, 3)


def steady(questions: Questions, at: Rows) -> dict[str, Any]:
    """Answer a flow by its sender, now and then otherwise."""
    flow = questions.grid["flow"].to_numpy()[at]
    odd = (flow * 7 + questions.grid["row"].to_numpy()[at] * 5) % 4 == 0
    return {"text": [SCALE.options[i] for i in (flow // 25 + 2 * odd) % 5]}


def spec(**changes: Any) -> Any:
    rule = DecidingRule(THRESHOLDS, 0.05, 100).plain()
    stated = {"source": "s", "n_templates": 4, "factors": ["sender", "type"], "order_method": "balanced"}
    return make_spec("openai", **{**stated, "asking": rule, **changes})


def ask(folder: Path, engine: Answering, out: str = "out.parquet", made: Any = None) -> Path:
    made = made or spec()
    journal = Journal.at(folder / ".journal", made, Asker("study", "main", "m")).begin()
    path = folder / out
    write_shard(made, VIGNETTES, VARIANTS, path, engine, journal)
    return path


def answers_in(path: Path) -> pd.DataFrame:
    responses = tables.read(path, tables.RESPONSES)
    read = read_responses(responses, SCALE, prompts=VARIANTS)
    return add_not_asked(read, spec().as_plain(), VIGNETTES, VARIANTS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ask(tmp_path_factory.mktemp("whole"), Answering(steady))


def test_the_rounds_know_at_which_place_each_prompt_shows_each_option():
    questions = Questions.of(spec(), VIGNETTES, VARIANTS)
    places = design_of(questions).places
    assert places is not None
    shown = np.array(ORDERS)[questions.grid["order_code"].to_numpy().reshape(300, 12)]
    assert len(np.unique(shown)) == 10
    for flow, variant, level in [(0, 0, 0), (7, 3, 2), (299, 11, 4)]:
        assert shown[flow, variant][places[flow, variant, level]] == str(level)


def test_an_answer_that_is_not_valid_has_a_code_of_its_own(monkeypatch):
    taken: list[Any] = []

    def take(rounds: Rounds, codes: npt.NDArray[Any]) -> None:
        taken.append(codes.copy())
        rounds.todo = np.zeros_like(rounds.asked)

    def replies(rows: Rows) -> pd.DataFrame:
        texts = np.where(rows % 2, "no idea", SCALE.options[3])
        return pd.DataFrame(
            {"text": pd.Categorical(texts), "finish_reason": pd.Categorical(["stop"] * len(rows))}, rows
        )

    monkeypatch.setattr(Rounds, "take", take)
    rule = rule_of(spec())
    assert rule is not None
    (rows,) = rounds_of(Questions.of(spec(), VIGNETTES, VARIANTS), rule, replies)
    assert taken[0].ravel()[rows].tolist() == np.where(rows % 2, 5, 3).tolist()


def test_a_number_line_has_no_places():
    line = spec(scale=shipped("appropriateness_0_100").known)
    assert design_of(Questions.of(line, VIGNETTES, VARIANTS[VARIANTS["order_no"] == 0])).places is None


@pytest.mark.parametrize("patience", [9, *(pytest.param(late, marks=pytest.mark.slow) for late in (1, 12))])
def test_a_killed_job_goes_on_and_gives_the_same_file(tmp_path, whole, patience):
    with pytest.raises(InterruptedError):
        ask(tmp_path, Answering(steady, 150, patience))
    again = Answering(steady)
    assert ask(tmp_path, again).read_bytes() == whole.read_bytes()
    n_asked = len(tables.read(whole, tables.RESPONSES))
    assert 0 < len(again.asked) < n_asked < 0.9 * 300 * 12
    assert 1 < again.calls <= 10, "rounds of one engine"
    last = Answering(steady)
    assert ask(tmp_path, last, "third.parquet").read_bytes() == whole.read_bytes()
    assert last.asked == []


def test_replies_to_everything_in_the_journal_change_nothing(tmp_path, whole):
    everything = spec()
    del everything.identity["asking"]
    ask(tmp_path, Answering(steady), "all.parquet", everything)
    engine = Answering(steady)
    assert ask(tmp_path, engine).read_bytes() == whole.read_bytes()
    assert len(engine.asked) == 0


def test_the_rule_is_no_setting_of_a_journal():
    everything = spec()
    del everything.identity["asking"]
    assert sample_settings(everything) == sample_settings(spec())


def test_what_was_not_asked_has_a_status_and_no_vote(whole, tmp_path):
    answers = answers_in(whole)
    asked = len(tables.read(whole, tables.RESPONSES))
    assert len(answers) == 300 * 12
    assert (answers["status"] != tables.NOT_ASKED).sum() == asked
    assert ((answers["part"] == "not_asked") == (answers["status"] == tables.NOT_ASKED)).all()
    tables.write(answers, tmp_path / "answers.parquet", tables.ANSWERS)
    norms = assessment.assess(answers, "strict", SCALE)
    tables.write(norms, tmp_path / "norms.parquet", tables.NORMS)
    assert norms["n_asked"].sum() == asked
    assert (norms["n_variants"] == 12).all()
    assert norms["pilot"].sum() == 100


def test_a_flow_that_was_asked_a_part_needs_that_part_of_t_val(whole):
    norms = assessment.assess(answers_in(whole), "strict", SCALE)
    early = norms[norms["n_asked"] == 3]
    assert len(early)
    assert (assessment.status(early, THRESHOLDS) == "kept").any()
    no_part = early.drop(columns=["n_variants", "pilot"])
    assert (assessment.status(no_part, THRESHOLDS) == "below_t_val").all()


def test_a_kind_gets_the_part_that_it_declares(whole):
    answers = answers_in(whole)
    norms = assessment.assess(answers, "strict", SCALE)
    block = part_asked(answers, "block")
    assert (block.groupby("flow").size() == 3).all()
    assert block["flow"].nunique() == 300
    pilot = part_asked(answers, "pilot")
    assert (pilot.groupby("flow").size() == 12).all()
    assert pilot["flow"].nunique() == len(part_asked(norms, "pilot")) == 100
    assert len(part_asked(answers, "verdicts")) == norms["n_asked"].sum()
    assert len(part_asked(answers, "all")) == 300 * 12


def test_a_file_that_no_rounds_ask_for_is_refused(whole):
    responses = tables.read(whole, tables.RESPONSES)
    path = whole.with_name("1-of-1.parquet")
    questions = Questions.of(spec(), VIGNETTES, VARIANTS)
    order, pilot = design_of(questions).order(), design_of(questions).pilot(100)
    names = VARIANTS["variant"].to_numpy()[order]

    def check_without(flow: int, variants: npt.NDArray[Any]) -> None:
        lost = (responses["flow"] == flow) & responses["variant"].isin(variants)
        check_complete(path, responses[~lost], spec().as_plain(), VIGNETTES, VARIANTS)

    flow, whole_flow = int(np.flatnonzero(~pilot)[0]), int(np.flatnonzero(pilot)[0])
    check_without(flow, names[flow, :0])
    check_without(flow, names[flow, 3:])  # its first block: a round may decide it then
    for wrong, lost in [
        (flow, names[flow, :1]),  # not its first ones
        (flow, names[flow, 2:]),  # less than its first block
        (whole_flow, names[whole_flow, -1:]),  # all of the pilot is asked
    ]:
        with pytest.raises(DataError, match="no rounds ask for"):
            check_without(wrong, lost)
