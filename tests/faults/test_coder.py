"""A model codes what the rules cannot read: through Snakemake, with a person's sample, and without asking twice."""

import re
from collections.abc import Callable
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
    """Answers half of the prompts in prose that no rule reads, and as the coder codes that."""

    coded = 0

    def __call__(self, chat: list[dict[str, str]]) -> str:
        text = chat[-1]["content"]
        if "You code the replies" in text:
            self.coded += 1
            return true_code(text)
        option = answer_to(chat)
        place = list(PLACES)[OPTIONS.index(option)]
        return PROSE.format(place) if sum(map(ord, text)) % 2 else option


@pytest.fixture
def study(tmp_path: Path, endpoint: Endpoint) -> Study:
    made = Study(tmp_path / "project", endpoint)
    made.study |= {"norms": {"t_val": 1, "grid": {"t_val": [1]}}}
    made.study["answers"] = {"coder": "behind-an-api", "sample": 60}
    return made


def answers(study: Study) -> Any:
    return tables.read(study.folder / WANTED[0], tables.ANSWERS)


def fill_in(study: Study, code: Callable[[str], str] = true_code) -> None:
    """Code the sheet of 60 replies as a person would, who makes no mistake unless another ``code`` is given."""
    path = study.folder / CODING / "to_code.csv"
    sheet = read_csv(path, as_text=True)
    assert len(sheet) == 60
    write_csv(sheet.assign(code=sheet["reply"].map(code)), path)
    study.study["answers"]["coded"] = f"{CODING}/to_code.csv"


@pytest.mark.slow
def test_codes_count_once_a_person_has_confirmed_them(study, endpoint):
    respondent = endpoint.answer = Respondent()
    # A person codes a sample without any coder, and that of the coder.
    del study.study["answers"]["coder"]
    study.run(targets=WANTED)
    n = int(answers(study)["level"].isna().sum())
    assert 60 < n < 200
    fill_in(study)
    study.study["answers"] = {"coder": "behind-an-api", "sample": 60}
    study.run(targets=WANTED)
    assert respondent.coded == n
    agreement = read_csv(study.folder / CODING / "agreement.csv")
    assert agreement["status"].tolist() == ["sample_incomplete"]
    page = (study.folder / WANTED[1]).read_text(encoding="utf-8")
    assert "0 of 60" in page

    fill_in(study)
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

    # With a person who reads them otherwise it does not count, and again nothing is asked.
    fill_in(study, lambda reply: "neutral")
    study.run(targets=WANTED)
    agreement = read_csv(study.folder / CODING / "agreement.csv").set_index("kind")
    assert agreement.loc["level", "status"] == "agreement_too_low"
    read = answers(study)
    assert int(read["level"].isna().sum()) == n - 60
    assert not any(str(rule).startswith("coder") for rule in read["rule"].unique())
    assert endpoint.number == asked
