"""A model codes what the rules cannot read: through Snakemake, with a person's sample, and without asking twice."""

import re
from pathlib import Path
from typing import Any

import pytest

from cinorms.core import tables
from cinorms.core.csv_files import read_csv, write_csv

from .server import OPTIONS, Endpoint, answer_to
from .test_study import Study

PROSE = "Counted from the worst end, this deserves place {} of five."
PLACES = {"one": 0, "two": 1, "three": 2, "four": 3, "five": 4}
CODING = "results/api/coding"
WANTED = ("results/api/answers/main/behind-an-api.parquet", "results/api/report/appendix.html")


def true_code(reply: str) -> str:
    """Return the option that a reply in prose means."""
    (place,) = re.findall(r"place (\w+) of five", reply)
    return OPTIONS[PLACES[place]]


class Respondent:
    """Answers half of the prompts in prose that no rule reads; as the coder it errs in ``mistakes`` of five."""

    def __init__(self, mistakes: int = 0) -> None:
        self.mistakes = mistakes
        self.coded = 0

    def __call__(self, chat: list[dict[str, str]]) -> str:
        text = chat[-1]["content"]
        option = answer_to(chat)
        number = sum(map(ord, text))
        if "You code the replies" in text:
            self.coded += 1
            code = true_code(text)
            return OPTIONS[(OPTIONS.index(code) + 1) % 5] if number % 5 < self.mistakes else code
        place = list(PLACES)[OPTIONS.index(option)]
        return PROSE.format(place) if number % 2 else option


@pytest.fixture
def study(tmp_path: Path, endpoint: Endpoint) -> Study:
    made = Study(tmp_path / "project", endpoint)
    made.study |= {"norms": {"t_val": 1, "grid": {"t_val": [1]}}}
    made.study["answers"] = {"coder": "behind-an-api", "sample": 60}
    return made


def answers(study: Study) -> Any:
    return tables.read(study.folder / WANTED[0], tables.ANSWERS)


def fill_in(study: Study) -> int:
    """Code the sheet as a person would who makes no mistake; return how many replies it has."""
    path = study.folder / CODING / "to_code.csv"
    sheet = read_csv(path, as_text=True)
    write_csv(sheet.assign(code=sheet["reply"].map(true_code)), path)
    study.study["answers"]["coded"] = f"{CODING}/to_code.csv"
    return len(sheet)


@pytest.mark.slow
def test_codes_count_once_a_person_has_confirmed_them(study, endpoint):
    respondent = endpoint.answer = Respondent()
    study.run(targets=WANTED)
    unread = answers(study)["level"].isna()
    n = int(unread.sum())
    assert 60 < n < 200
    assert respondent.coded == n
    agreement = read_csv(study.folder / CODING / "agreement.csv")
    assert agreement["status"].tolist() == ["sample_incomplete"]
    page = (study.folder / WANTED[1]).read_text(encoding="utf-8")
    assert "0 of 60" in page

    by_hand = fill_in(study)
    assert by_hand == 60
    asked = endpoint.number
    study.run(targets=WANTED)
    assert endpoint.number == asked, "nothing is asked again"
    read = answers(study)
    assert read["level"].notna().all()
    counts = read["rule"].value_counts()
    assert counts["override"] == 60
    assert counts["coder behind-an-api"] == n - 60
    agreement = read_csv(study.folder / CODING / "agreement.csv").set_index("kind")
    assert agreement.loc["level", ["coded_by_hand", "agreed", "status"]].tolist() == [60, 60, "counts"]
    page = (study.folder / WANTED[1]).read_text(encoding="utf-8")
    assert "60 of 60" in page
    assert "behind-an-api" in page

    # Its replies are in the store: without the file nothing is asked again.
    (study.folder / CODING / "acceptability/replies.parquet").unlink()
    study.run(targets=WANTED)
    assert endpoint.number == asked
    found = study.provenance()
    assert found["coder"][0]["replies"] == n
    assert found["usd"] == pytest.approx((len(read) + n) * 120e-6)


@pytest.mark.slow
def test_a_coder_that_errs_does_not_count(study, endpoint):
    endpoint.answer = Respondent(mistakes=1)
    del study.study["answers"]["coder"]
    study.run(targets=WANTED)
    n = int(answers(study)["level"].isna().sum())
    # A person codes a sample without any coder, and that of the coder.
    fill_in(study)
    study.study["answers"]["coder"] = "behind-an-api"
    study.run(targets=WANTED)
    fill_in(study)
    study.run(targets=WANTED)
    agreement = read_csv(study.folder / CODING / "agreement.csv").set_index("kind")
    assert agreement.loc["level", "agreed"] < 60
    assert agreement.loc["level", "status"] == "agreement_too_low"
    read = answers(study)
    assert int(read["level"].isna().sum()) == n - 60
    assert set(read["rule"]) & {"override"}
    assert not any(str(rule).startswith("coder") for rule in read["rule"].unique())


def test_mistakes_in_the_settings_are_one_message(study):
    for given, message in (
        ({"coder": "behind-an-apii"}, "'behind-an-apii' is not a model"),
        ({"coder": "planted-gpt-4o-mini"}, "is planted"),
        ({"coded": "nosuch.csv"}, "nosuch.csv"),
    ):
        study.study["answers"] = given
        printed = study.run("-n", code=1)
        assert message in printed
        assert "Traceback" not in printed
