"""What is published: tables of the whole study, described; nothing about the machine that made them."""

import gzip
import json
import re
import zipfile
from datetime import date
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cinorms.core.errors import DataError
from cinorms.core.files import sha256_of
from cinorms.norms.assessment import level_matrix
from cinorms.publish import contents
from cinorms.publish.contents import Item, Member, insist_on_nothing_personal, join_tables, without_places
from cinorms.publish.crate import crate
from cinorms.publish.croissant import croissant
from cinorms.publish.datasheet import datasheet
from cinorms.publish.eval_records import model_id, records_of
from cinorms.publish.folder import publish
from cinorms.publish.sources import sources_of
from cinorms.report.description import facts_of
from cinorms.stats.wordings import held_share, level_counts, template_numbers
from cinorms.study.facts import ArmFacts, DatasetFacts, ModelFacts, StudyFacts
from cinorms.study.load import ROOT, load_study, read_layers

from ...scales import ACCEPTABILITY
from ...studies import PROJECT
from ...study_facts import facts

ABOUT = {
    "study": "s",
    "name": "cinorms-s",
    "description": "Norms.",
    "licence": "CC-BY-4.0",
    "licence_url": "https://spdx.org/licenses/CC-BY-4.0.html",
    "url": "urn:cinorms:s",
    "creator": "A laboratory",
    "version": "1.0.0",
    "date": date(2026, 11, 22).isoformat(),
    "timestamp": "1795305600",
    "software_version": "0.1.0",
    "citation": "A laboratory (2026).",
    "language": {"@id": "#language", "name": "A language", "url": "https://example.org"},
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("/data/models/tulu", "tulu"),
        ("~/models/x", "x"),
        ("C:\\models\\x", "x"),
        ("allenai/tulu-2-7b", "allenai/tulu-2-7b"),
        ("resources/x.yaml", "resources/x.yaml"),
        ({"/a/b": ["/c/d", 1, None]}, {"b": ["d", 1, None]}),
        ("http://gpu17:8000/v1", "http://internal.invalid/v1"),
        ("http://10.0.3.7/v1", "http://internal.invalid/v1"),
        ("http://[fd00::1]:80/v1", "http://internal.invalid/v1"),
        ("503 of https://me:pw@llm.lab.internal/v1, again", "503 of https://internal.invalid/v1, again"),
        ("https://me:pw@api.example.org:8443/v1", "https://api.example.org:8443/v1"),
        *((own, own) for own in ("http://localhost:8000/v1 or http://127.0.0.1", "https://openrouter.ai/v1")),
    ],
)
def test_a_path_of_a_machine_becomes_its_last_part(given, expected):
    assert without_places(given) == expected


KEY = "sk-abcdef"
#: What must not be published: where a made-up machine holds it.
NODE, HOME, CWD = "gpu-node-17", "/home/janedoe", "/data/studies/one"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make this machine gpu-node-17, its user janedoe, and its working folder /data/studies/one."""
    monkeypatch.setattr(contents.platform, "node", lambda: NODE)
    monkeypatch.setattr(contents.getpass, "getuser", lambda: "janedoe")
    monkeypatch.setattr(contents.Path, "home", lambda: Path(HOME))
    monkeypatch.setattr(contents.os, "getcwd", lambda: CWD)
    monkeypatch.setenv("PWD", CWD)
    return monkeypatch


def test_a_file_with_a_name_of_this_machine_or_a_key_is_refused(tmp_path, machine):
    (tmp_path / "a.json").write_text('{"x": "fine"}', encoding="utf-8")
    insist_on_nothing_personal(tmp_path, [KEY])
    for text, shown in ('{"host": "gpu-node-17"}', "'gpu-node-17'"), (f"before a {KEY}", "a key"):
        (tmp_path / "b.json").write_text(text, encoding="utf-8")
        message = rf"b\.json: contains {shown}, which is only of this machine"
        with pytest.raises(DataError, match=message) as caught:
            insist_on_nothing_personal(tmp_path, [KEY])
        assert KEY not in str(caught.value)
        assert str(caught.value).count("\n") <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"see {CWD}/received/a.jsonl", CWD),
        (f"{HOME}/.cache", HOME),
        (r'{"path": "\/data\/studies\/one\/x"}', CWD),
        (r'"{\"path\": \"\\/data\\/studies\\/one\"}"', CWD),
        (r"\u002fhome\u002fjanedoe", HOME),
        (r"line\ngpu-node-17", NODE),
        ("gpu-node-17.cluster.example.org", NODE),
        ("/scratch/janedoe/models", "janedoe"),
        ("on /nfs/users/janedoe.", "janedoe"),
        (r"C:\Users\janedoe\models", "janedoe"),
        ('{"at": "C:\\\\Users\\\\janedoe"}', "janedoe"),
        ("janedoe@login", "janedoe"),
        ("ssh x@janedoe", "janedoe"),
        ("~janedoe/study", "janedoe"),
        ("ask gpu.internal", "gpu.internal"),
        (f"{KEY} again", None),
    ],
)
def test_folders_names_and_keys_are_found_behind_escapes(tmp_path, machine, text, shown):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(f"contains {shown!r}," if shown else "contains a key,")):
        insist_on_nothing_personal(tmp_path, [KEY], ["gpu.internal"])


@pytest.mark.parametrize(
    "text",
    [
        "my janedoe says so",
        "results/janedoe/x, https://example.org/janedoe, org/janedoe",
        "https://janedoe.example.org",
        "/home/janedoes, /data/studies/oneself",
        "a gpu-node-170 and another-gpu-node-17",
        "C:\\Users\\root, /root/x, /work/x, http://localhost:8000, root@localhost",
        "a last backslash \\",
    ],
)
def test_ordinary_text_is_no_name_of_a_machine(tmp_path, machine, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    insist_on_nothing_personal(tmp_path)


@pytest.mark.parametrize(
    ("user", "home", "folder"), [("root", "/root", "/work"), ("user", "/home/user", "/app")]
)
def test_names_that_every_machine_has_are_no_reason_to_refuse(tmp_path, machine, user, home, folder):
    machine.setattr(contents.platform, "node", lambda: "localhost")
    machine.setattr(contents.getpass, "getuser", lambda: user)
    machine.setattr(contents.Path, "home", lambda: Path(home))
    machine.setattr(contents.os, "getcwd", lambda: folder)
    machine.setenv("PWD", folder)
    text = f"{home}/x {folder}/y {user}@localhost //localhost /scratch/{user}/x test-key"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    insist_on_nothing_personal(tmp_path, ["test"])  # a key that is none: nothing shorter is redacted either
    (tmp_path / "a.txt").write_text(f"{folder}/study/y", encoding="utf-8")
    machine.setattr(contents.os, "getcwd", lambda: f"{folder}/study")
    with pytest.raises(DataError, match=f"contains '{folder}/study'"):
        insist_on_nothing_personal(tmp_path)


def parquet(column: pa.Array, of_column: dict[str, str] | None = None, **metadata: str) -> bytes:
    out = pa.BufferOutputStream()
    fields = [pa.field("n", pa.int64()), pa.field("x", column.type, metadata=of_column)]
    table = pa.table([pa.array(range(len(column))), column], pa.schema(fields, metadata))
    pq.write_table(table, out, compression="zstd", row_group_size=2)
    return bytes(out.getvalue())


def zipped(name: str, data: bytes) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


FINE = ["fine", None, "neutral " * 50]
BAD = [*FINE, f"see {CWD}/a " * 3]
BAD_TABLE = parquet(pa.array(BAD))


@pytest.mark.parametrize(
    ("name", "data", "where"),
    [
        ("r.parquet", BAD_TABLE, "column 'x'"),
        ("r.parquet", parquet(pa.array(BAD).dictionary_encode()), "column 'x'"),
        ("r.parquet", parquet(pa.array(BAD, pa.large_string())), "column 'x'"),
        ("r.parquet", parquet(pa.array([[x] for x in BAD])), "column 'x'"),
        ("r.parquet", parquet(pa.array([{"y": x} for x in BAD])), "column 'x'"),
        ("r.parquet", parquet(pa.array([(x or "").encode() for x in BAD])), "column 'x'"),
        ("r.parquet", parquet(pa.array([json.dumps(x).replace("/", "\\/") for x in BAD])), "column 'x'"),
        ("r.parquet", parquet(pa.array(FINE), spec=json.dumps({"at": CWD})), "metadata"),
        ("r.parquet", parquet(pa.array(FINE), {"where": CWD}), "metadata"),
        ("r.zip", zipped("a.txt", CWD.encode()), "a.txt"),
        ("r.zip", zipped(f"{CWD}/a.txt", b""), "contains"),
        ("r.gz", gzip.compress(CWD.encode(), mtime=0), "unpacked"),
        ("r.zip", zipped("b.gz", gzip.compress(zipped("r.parquet", BAD_TABLE), mtime=0)), "column 'x'"),
        (f"{NODE}.txt", b"", "contains"),
    ],
)
def test_tables_and_archives_are_searched_unpacked(tmp_path, machine, name, data, where):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=f"^{re.escape(name)}.*{where}") as caught:
        insist_on_nothing_personal(tmp_path)
    assert "which is only of this machine" in str(caught.value)


def test_a_file_that_nobody_can_search_is_refused(tmp_path, machine):
    for name, data in (("a.zip", zipped("a.txt", b"fine")), ("b.parquet", parquet(pa.array(FINE)))):
        (tmp_path / name).write_bytes(data)
    insist_on_nothing_personal(tmp_path)
    (tmp_path / "c.png").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(DataError, match=r"c\.png: is neither text nor Parquet nor zip nor gzip"):
        insist_on_nothing_personal(tmp_path)


def test_a_refused_folder_is_not_left_behind(tmp_path, machine):
    def write(results: Any, sources: list[dict[str, str]], today: date, folder: Path) -> list[Item]:
        folder.mkdir()
        (folder / "a.txt").write_text(f"{results.norms} {sources[0]['address']}", encoding="utf-8")
        return []

    machine.setattr("cinorms.publish.folder._write", write)
    for name, content in (("study", '{"base_url": "http://gpu17:8000/v1"}'), ("provenance", "{}")):
        (tmp_path / name).write_text(content, encoding="utf-8")
    sources, folder = [{"address": "/scratch/janedoe/tulu"}], tmp_path / "published"
    files = SimpleNamespace(study=tmp_path / "study", provenance=tmp_path / "provenance", norms="fine")
    publish(cast(Any, files), sources, date(2026, 11, 22), folder)
    assert (folder / "a.txt").read_text(encoding="utf-8") == "fine tulu"
    files.norms = "gpu17 is down"
    with pytest.raises(DataError, match="contains 'gpu17'"):
        publish(cast(Any, files), sources, date(2026, 11, 22), folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["provenance", "study"]


def joined(tmp_path: Path) -> Item:
    flow, p_options = pa.array([0, 1], pa.int32()), pa.array([[0.5, 0.5], None], pa.list_(pa.float32()))
    for number, model in enumerate(("a", "b")):
        text = pa.array([f"x{number}", None]).dictionary_encode()
        table = pa.table({"flow": flow, "text": text, "p_options": p_options})
        pq.write_table(table, tmp_path / f"{model}.parquet")
    members = [Member("main", model, str(tmp_path / f"{model}.parquet")) for model in ("a", "b")]
    about = {"flow": "The flow.", "text": "The text.", "p_options": "Probabilities."}
    return join_tables(members, tmp_path, "responses.parquet", "Responses.", about)


def test_tables_of_all_models_become_one(tmp_path):
    item = joined(tmp_path)
    frame = pd.read_parquet(tmp_path / "responses.parquet")
    assert list(frame) == list(item.columns or {}) == ["arm", "model", "flow", "text", "p_options"]
    assert frame["model"].tolist() == ["a", "a", "b", "b"]
    assert frame["text"].tolist()[::2] == ["x0", "x1"]


def test_croissant_describes_every_column_with_its_type(tmp_path):
    item = joined(tmp_path)
    (tmp_path / "n.csv").write_text("who,n,share,held,none\nx,1,0.5,TRUE,\ny,2,,FALSE,\n", encoding="utf-8")
    table = Item("n.csv", "Numbers.", dict.fromkeys(("who", "n", "share", "held", "none"), "About."))
    made = croissant(ABOUT, [item, table, Item("a.parquet", "No table.")], tmp_path)
    kinds = {field["@id"]: field["dataType"] for records in made["recordSet"] for field in records["field"]}
    assert kinds == {
        **dict.fromkeys(("responses/arm", "responses/model", "responses/text", "n/who", "n/none"), "sc:Text"),
        **dict.fromkeys(("responses/flow", "n/n"), "sc:Integer"),
        **dict.fromkeys(("responses/p_options", "n/share"), "sc:Float"),
        "n/held": "sc:Boolean",
    }
    assert [file["sha256"] for file in made["distribution"]] == [
        sha256_of(tmp_path / name) for name in ("responses.parquet", "n.csv", "a.parquet")
    ]


def test_the_crate_names_the_run_and_what_it_made(tmp_path):
    for name in ("Snakefile", "settings.json", "norms.csv"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    items = [Item(name, name) for name in ("Snakefile", "settings.json", "norms.csv")]
    graph = {one["@id"]: one for one in crate(ABOUT, items, "Snakefile", "settings.json", tmp_path)["@graph"]}
    assert graph["#run"]["instrument"] == {"@id": "Snakefile"}
    assert graph["#run"]["result"] == [{"@id": "norms.csv"}]
    assert "ComputationalWorkflow" in graph["Snakefile"]["@type"]


def test_a_record_has_the_mean_with_its_interval_over_templates():
    levels = {("0_0", 0): 2, ("1_0", 0): 1, ("0_0", 1): 0, ("1_0", 1): -1}
    rows = [(flow, variant, level, "ok") for (variant, flow), level in levels.items()]
    answers = pd.DataFrame(rows, columns=["flow", "variant", "level", "status"]).astype({"level": "Int8"})
    prompts = pd.DataFrame({"variant": ["0_0", "1_0"], "template_no": [0, 1]})
    norms = pd.DataFrame({"arm": "main", "model": ["m", "m", "n"], "status": ["kept", "tie", "kept"]})
    model = facts(ModelFacts, family="f", engine="vllm", source="org/m")
    study = facts(StudyFacts, arms={"main": facts(ArmFacts)}, models={"m": model})
    ((path, made),) = records_of(ABOUT, study, [("main", "m", answers, prompts)], norms)
    assert path.parts[2:5] == ("cinorms_s_main", "org", "m")
    results = {
        one["evaluation_name"].rpartition("/")[2]: one["score_details"] for one in made["evaluation_results"]
    }
    assert results["mean_level"]["score"] == 0.5
    interval = results["mean_level"]["uncertainty"]["confidence_interval"]
    assert interval["lower"] < 0.5 < interval["upper"]
    assert results["norms_held"]["score"] == 0.5
    assert results["norms_held"]["uncertainty"] == {"num_samples": 2}  # two templates have no halves
    assert results["valid_answers"]["score"] == 1.0
    assert made["model_info"]["id"] == "org/m"
    assert model_id("m", facts(ModelFacts, family="f", source="/data/m")) == "f/m"


@pytest.mark.parametrize("without_level", ["refusal", "conditional"])
def test_shares_of_a_record_have_intervals_over_templates(without_level):
    rng = np.random.default_rng(1)
    rows = [(f, f"{t}_0", int(rng.integers(-1, 2)), "ok") for f in range(20) for t in range(5)]
    answers = pd.DataFrame(rows, columns=["flow", "variant", "level", "status"]).astype({"level": "Int8"})
    answers.loc[3, ["level", "status"]] = [pd.NA, without_level]
    prompts = pd.DataFrame({"variant": [f"{t}_0" for t in range(5)], "template_no": range(5)})
    study = facts(
        StudyFacts, arms={"main": facts(ArmFacts)}, models={"m": facts(ModelFacts, family="f")}, t_maj=0.5
    )

    def shares(part: pd.DataFrame) -> dict[str, dict[str, Any]]:
        status = np.where(np.arange(20) < 8, "kept", "tie")
        norms = pd.DataFrame({"arm": "main", "model": "m", "status": status})
        ((_, made),) = records_of(ABOUT, study, [("main", "m", part, prompts)], norms)
        found = {one["evaluation_name"].rpartition("/")[2]: one for one in made["evaluation_results"]}
        return {name: one["score_details"]["uncertainty"] for name, one in found.items()}

    counts = level_counts(level_matrix(answers), template_numbers(prompts), ACCEPTABILITY)
    held = held_share(counts, study.thresholds("m"))[0]
    record = shares(answers)
    assert record["norms_held"]["confidence_interval"]["lower"] == held.low
    assert record["norms_held"]["standard_error"]["value"] == held.std_err > 0
    assert record["valid_answers"]["confidence_interval"]["lower"] < 0.99
    # A flow that was not asked in every template is no sample of the same ones.
    assert set(shares(answers.iloc[1:])["norms_held"]) == {"num_samples"}


def test_sources_and_datasheet_state_licences_and_where_answers_are_from(build_study):
    study = build_study()
    sources = sources_of(study)
    assert {row["what"] for row in sources} == {"dataset", "prompt set", "planted respondent"}
    assert next(row for row in sources if row["name"] == "iot")["citation"]
    described = facts(
        StudyFacts,
        arms={"main": facts(ArmFacts, source="responses", models=["m"])},
        datasets={"iot": facts(DatasetFacts, factors=["sender"])},
    )
    received = {"arm": "main", "model": "m", "used": 7, "format": "inspect", "origin": None}
    text = datasheet(ABOUT, described, {"asked": [], "received": [received]}, sources, [])
    assert "m in arm main: 7 responses that another tool collected (inspect; origin not stated)." in text
    assert "Licence of the results: CC-BY-4.0." in text
    assert "| dataset | iot |" in text
    json.dumps(sources)


def test_ratings_by_people_are_a_source_and_those_who_gave_them_are_numbers():
    study = load_study(read_layers([PROJECT / "config/people-planted.yaml"], ROOT), ROOT)
    rows = {(row["what"], row["name"]): row for row in sources_of(study)}
    assert rows["ratings by people", "planted_people"]["citation"]
    assert ("planted respondent", "people") not in rows
    text = datasheet(ABOUT, facts_of(study), {"asked": []}, [*rows.values()], [])
    assert "rated by 40 simulated raters, no real people." in text
    assert "or one rating of a flow by one person." in text
    assert "Those who rated them are running numbers" in text
