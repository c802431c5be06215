"""A small study in a folder, made without Snakemake: 120 flows, three planted models, two arms, hostile if wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core import tables
from cinorms.core.checksums import write_tidy
from cinorms.entries.entry import Selected
from cinorms.entries.files import call
from cinorms.entries.kind import kinds
from cinorms.norms.assessment import assess
from cinorms.prompts.orders import order_codes
from cinorms.prompts.variants import list_variants
from cinorms.report.replies import write_replies
from cinorms.report.results import StudyResults, page_inputs_of, read_page_results
from cinorms.study.metadata import ArmMetadata, DatasetMetadata, EntryMetadata, ModelMetadata, StudyMetadata
from cinorms.vignettes.factors import DatasetFactors

from .entries import make_entry
from .scales import ACCEPTABILITY, ORDERS
from .study_metadata import metadata

SENDERS = ["a tracker", "a camera", "a lock"]
RECIPIENTS = ["a doctor", "the police", "the maker", "an advertiser", "=a friend"]
PRINCIPLES = [f"under condition {i}" for i in range(8)]
FACTORS = ["sender", "recipient", "principle"]
MODELS = ["model-a", "model-b", "model-c"]
#: The kinds of tables that every study has.
ALWAYS = [name for name, kind in kinds("analyses").items() if kind.always]
SEED = 7
#: Templates and orders of the arm main.
SHAPE = (3, 2)
#: What makes a file again, as the page shows it.
COMMAND = "make again --"


def make_results(folder: Path, mark: str = "", models: list[str] | None = None) -> StudyResults:
    """Return the results of the study that `make_folder` writes."""
    study = make_folder(folder, mark, models)
    return read_page_results(study, page_inputs_of(study, str(folder)))


def folder_of(results: StudyResults) -> Path:
    """Return the folder that `make_results` wrote."""
    return results.files["tables"]["counts"].parents[1]


def make_folder(folder: Path, mark: str = "", models: list[str] | None = None) -> StudyMetadata:
    """Write the study's results below ``folder`` and return what `describe` would say of it.

    ``mark`` is put into every text that data, models or settings can bring into the page.
    """
    names = models or MODELS
    vignettes = _vignettes(mark)
    tables.write(vignettes, folder / "vignettes/flows.parquet", tables.VIGNETTES)
    arms = {"main": (*SHAPE, names), "one": (1, 1, names[:1])}
    listed = []
    for arm, (templates, orders, of) in arms.items():
        texts = [f"{mark} Wording {i}: {{scenario}}? One of {{options}}." for i in range(templates)]
        prompts = list_variants("set", texts, templates, orders)
        tables.write(prompts, folder / f"prompts/{arm}.parquet", tables.PROMPTS)
        for k, model in enumerate(of):
            answers = _answers(vignettes, prompts, k)
            tables.write(answers, folder / f"answers/{arm}/{model}.parquet", tables.ANSWERS)
            norms = assess(answers, "strict", ACCEPTABILITY)
            tables.write(norms, folder / f"norms/{arm}/{model}.parquet", tables.NORMS)
            # As probable as the share of answers that agree: another number for each flow.
            listed.append(norms.assign(arm=arm, model=model, p_again=norms["share"].replace(1.0, 0.99999)))
            _write_replies(folder, arm, model, answers, prompts, mark)
            review = pd.DataFrame({"text": [f"{mark} I will not say"], "count": ["3"], "status": ["refusal"]})
            review.to_csv(folder / f"answers/{arm}/{model}.review.csv", index=False)
    pd.concat(listed)[["arm", "model", "flow", "p_again"]].to_parquet(folder / "norms.parquet")
    _write_entries(folder, mark, names)
    _write_always(folder, names)
    return _described(mark, names, arms)


def _vignettes(mark: str) -> pd.DataFrame:
    levels = [SENDERS, RECIPIENTS, PRINCIPLES]
    grid = pd.MultiIndex.from_product(levels, names=FACTORS).to_frame(index=False)
    frame = pd.DataFrame({f: pd.Categorical(grid[f] + mark, dict.fromkeys(grid[f] + mark)) for f in FACTORS})
    texts = [f"{mark}{row.sender} tells {row.recipient} {row.principle}" for row in grid.itertuples()]
    expected = np.where(np.arange(len(grid)) < 10, 50.0, np.nan)
    return frame.assign(flow=np.arange(len(grid), dtype=np.int32), vignette=texts, expected=expected)


def _answers(vignettes: pd.DataFrame, prompts: pd.DataFrame, k: int) -> pd.DataFrame:
    """Return answers that grow with the principle; the models differ by a level, every wording a little."""
    n, rng = len(vignettes), np.random.default_rng(k)
    flow = np.repeat(np.arange(n), len(prompts))
    row = np.tile(np.arange(len(prompts)), n)
    linear = vignettes["principle"].cat.codes.to_numpy()[flow] / 2 - 2 + k - 0.5 * (row % 3)
    level = np.clip(np.rint(linear + rng.normal(0, 0.5, len(flow))), -2, 2)
    bad = rng.random(len(flow)) < 0.1
    codes = order_codes(
        "balanced", SEED, flow, prompts["template_no"].to_numpy()[row], prompts["order_no"].to_numpy()[row], 5
    )
    return pd.DataFrame(
        {
            "flow": flow.astype(np.int32),
            "variant": pd.Categorical.from_codes(row, list(prompts["variant"])),
            "order": pd.Categorical.from_codes(codes, list(ORDERS)),
            "level": pd.array(np.where(bad, pd.NA, level), dtype="Int8"),
            "status": pd.Categorical(np.where(bad, "refusal", "ok")),
            "rule": pd.Categorical(["label"] * len(flow)),
        }
    )


def reply_texts(answers: pd.DataFrame, mark: str) -> pd.Series[str]:
    """Return what a model would have said where this is read as its answers."""
    words = dict(zip(ACCEPTABILITY.levels, ACCEPTABILITY.options, strict=True))
    said = "Answer: " + answers["level"].map(words, na_action="ignore").astype("str") + "." + mark
    return said.fillna(f"{mark} I will not say")


def _write_replies(
    folder: Path, arm: str, model: str, answers: pd.DataFrame, prompts: pd.DataFrame, mark: str
) -> None:
    """Write what the model would have said, and the page's files of it."""
    responses = answers[["flow", "variant", "order"]].assign(
        text=reply_texts(answers, mark).astype("category"),
        finish_reason=pd.Categorical(["stop"] * len(answers)),
        n_prompt_tokens=pd.array([9] * len(answers), dtype="Int32"),
        n_output_tokens=pd.array([4] * len(answers), dtype="Int32"),
        p_options=None,
    )
    path = folder / f"responses/{arm}/{model}.parquet"
    tables.write(responses, path, tables.RESPONSES)
    read = tables.read(path, tables.RESPONSES)
    write_replies(read, answers, prompts, ACCEPTABILITY, folder / f"report/replies/{arm}/{model}")


def _write_entries(folder: Path, mark: str, names: list[str]) -> None:
    for part in ("tables", "figures", "cards", "printed"):
        (folder / part).mkdir(parents=True)
    table = pd.DataFrame(
        {"arm": ["main"], f"col{mark}": [f"cell{mark}"], "estimate": ["0.123456789"], "p": ["1e-5"]}
    )
    table.assign(any_planted=True).to_csv(folder / "tables/counts.csv", index=False)
    numbers = {"mean_signed": [-40.0, 5.0, 8.0], "mean_absolute": [41.0, 9.0, 9.0]}
    delta = pd.DataFrame({name: (of * len(names))[: len(names)] for name, of in numbers.items()})
    delta = delta.assign(arm="main", model=names, n=10, status="ok", reason="", **{f"x{mark}": mark})
    write_tidy(delta, folder / "tables/delta.parquet", folder / "tables/delta.csv")
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><text x="1.23456" y="20">0.98765'
    (folder / "figures/shares.svg").write_text(svg + "</text></svg>", encoding="utf-8")
    (folder / "figures/shares.txt").write_text(f"Shares.{mark}\nn = 120.\n", encoding="utf-8")
    (folder / "figures/shares.csv").write_text("", encoding="utf-8")
    for model in names:
        (folder / f"cards/{model}.md").write_text(f"{model} holds", encoding="utf-8")
        (folder / f"cards/{model}.json").write_text("{}", encoding="utf-8")
    asked = [
        {
            "arm": "main",
            "model": model,
            "engine": "openai",
            "answered_by": {f"host{mark}": 3},
            "sha256": "0" * 64,
            "usd": 0.5,
        }
        | {"first_reply": "2026-01-02T03:04:05Z", "last_reply": "2026-01-03T03:04:05Z", "runs": []}
        for model in names
    ]
    (folder / "provenance.json").write_text(json.dumps({"asked": asked}), encoding="utf-8")


def _write_always(folder: Path, names: list[str]) -> None:
    vignettes = tables.read(folder / "vignettes/flows.parquet", tables.VIGNETTES)
    prompts = tables.read(folder / "prompts/main.parquet", tables.PROMPTS)
    read = {model: tables.read(folder / f"answers/main/{model}.parquet", tables.ANSWERS) for model in names}
    for kind, table in always("main", read, vignettes, prompts).items():
        write_tidy(table, folder / f"tables/{kind}.parquet", folder / f"tables/{kind}.csv")


def always(
    arm: str,
    answers: dict[str, pd.DataFrame],
    vignettes: pd.DataFrame,
    prompts: pd.DataFrame,
    people: bool = False,
) -> dict[str, pd.DataFrame]:
    """Return the tables that every study has, by kind, of the answers of each model, or of ``people``."""
    given = [Selected(arm, model, frame) for model, frame in answers.items()]
    pairs = [one.pair for one in given]
    usual: dict[str, Any] = {
        "factors_of": {arm: DatasetFactors("flows", tuple(FACTORS))},
        "people": pairs * people,
    }
    norms = [one._replace(frame=assess(one.frame, "strict", ACCEPTABILITY)) for one in given]
    read = {"answers": given, "norms": norms}
    further = {"vignettes": {arm: vignettes}, "prompts": {arm: prompts}, "answers": given}
    entries = {kind: make_entry("analyses", kind, {}, pairs, t_val=3, **usual) for kind in ALWAYS}
    made = {kind: call(entry, read[entry.declared.reads], further) for kind, entry in entries.items()}
    return {kind: table.assign(any_planted=True) for kind, table in made.items()}


def _described(mark: str, names: list[str], arms: dict[str, Any]) -> StudyMetadata:
    of_arms = {"dataset": "flows", "prompts": f"Paraphrases{mark}", "prompts_citation": f"Somebody{mark}"}
    of_arms |= {"system": f"Be kind.{mark}"}
    of_entries = {"about": f"About{mark}", "sentence": f"About{mark} One row per model.", "models": names}
    of_entries |= {"meanings": {"model": f"Name{mark}"}}
    model = metadata(
        ModelMetadata, engine="openai", source=f"source{mark}", note=mark, planted=True, arms=["main"]
    )
    delta = metadata(
        EntryMetadata,
        kind="mean_delta",
        section="delta",
        about="Delta.",
        sentence="Delta. One row per model.",
        models=names,
    )
    dataset = metadata(
        DatasetMetadata,
        title=f"Flows{mark}",
        factors=FACTORS,
        expected_range=(-100, 100),
        citation=f"Cited{mark}",
    )
    return metadata(
        StudyMetadata,
        name=f"small{mark}",
        t_maj=0.5,
        t_val=dict.fromkeys(names, 3),
        arms={
            arm: metadata(ArmMetadata, **of_arms, models=of, layouts=dict.fromkeys(of, "single"))
            for arm, (_, _, of) in arms.items()
        },
        datasets={"flows": dataset},
        models=dict.fromkeys(names, model),
        analyses={
            "counts": metadata(EntryMetadata, **of_entries),
            "delta": delta,
            **{kind: metadata(EntryMetadata, kind=kind, section="factors", models=names) for kind in ALWAYS},
        },
        figures={"shares": metadata(EntryMetadata, kind="distribution", title=f"Title{mark}", **of_entries)},
        settings={
            "study": "small",
            "title": f"Small{mark}",
            "about": f"answers of nobody{mark}",
            "seed": SEED,
            "compare": None,
            "note": mark,
            "report": {"replies": "folder"},
            "printed": {},
        },
    )
