"""Every check before a run: what it finds, what it lets pass, and its one line."""

import os
import shlex
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from cinorms.core import tables
from cinorms.core.errors import ConfigError, DataError
from cinorms.core.root import Root
from cinorms.core.yaml_files import load_yaml
from cinorms.inference.engine_kind import EntryProblem, Surroundings
from cinorms.inference.model_entry import ModelEntry, load_registry
from cinorms.inference.questions import Questions
from cinorms.inference.responses import response_metadata
from cinorms.run import check
from cinorms.run.check import CheckLine, PlannedRun, checks
from cinorms.run.left import flows_of, left_to_ask, variants_of
from cinorms.study.requests import request_of
from cinorms.study.study import Study
from cinorms.vignettes.designs import Dataset
from cinorms.vignettes.reading import read_vignettes

from ...asking import make_responses
from ...studies import ARM, PROJECT, load

ORIGINAL = "Please say how acceptable this scenario is: {scenario}. Answer with one of these: {options}"
#: Two entries of the registry: the checks read all of a project's.
TWO = {
    name: entry
    for name, entry in load_yaml(PROJECT / "config/models.yaml").items()
    if name in ("gpt-4o-mini", "planted-gpt-4o-mini")
}
#: The flows of each design that was read.
FLOWS: dict[str, pd.DataFrame] = {}


@cache
def ours() -> dict[str, ModelEntry]:
    return load_registry(Root(PROJECT))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that the study runs in; flows and our registry are not read anew for each study."""

    def read(dataset: Dataset, *given: Any) -> pd.DataFrame:
        if not dataset.design:
            return read_vignettes(dataset, *given)
        key = repr(dataset).replace(str(dataset.path), "")
        if key not in FLOWS:
            FLOWS[key] = read_vignettes(dataset, *given)
        return FLOWS[key]

    def registry(root: Root) -> dict[str, ModelEntry]:
        return dict(ours()) if root.folder == PROJECT else load_registry(root)

    monkeypatch.setattr("cinorms.run.left.read_vignettes", read)
    monkeypatch.setattr("cinorms.study.load.load_registry", registry)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CINORMS_YES", raising=False)
    return tmp_path


def project(folder: Path, entries: dict[str, Any], prompts: dict[str, Any] | None = None) -> Root:
    """Return a project with these models and two of its own, and these prompt sets on top of its own."""
    for name in ("workflow", "resources/prompts", "config"):
        (folder / name).mkdir(parents=True)
    resources = PROJECT / "resources"
    for path in (*resources.iterdir(), *(resources / "prompts").glob("*.yaml")):
        if path.name != "prompts":
            (folder / path.relative_to(PROJECT)).symlink_to(path)
    for name, document in (prompts or {}).items():
        (folder / f"resources/prompts/{name}.yaml").write_text(yaml.safe_dump(document))
    (folder / "config/config.yaml").symlink_to(PROJECT / "config/config.yaml")
    (folder / "config/models.yaml").write_text(yaml.safe_dump(TWO | entries))
    return Root(folder)


def study_of(root: Root, models: list[str], analyses: dict[str, Any] | None = None, **arm: Any) -> Study:
    made = {"study": "s", "models": models, "arms": {"main": {**ARM, **arm}}, "figures": {}, "printed": {}}
    usual = {"answers": {"kind": "answer_counts", "arms": ["main"]}}
    return load(root, made | {"analyses": analyses or usual})


def told(findings: Iterable[EntryProblem] | None) -> list[tuple[str, str]]:
    return [(finding.severity, finding.text) for finding in findings or ()]


def planned(study: Study, cluster: bool = False, calls: Any = None, **environment: str) -> PlannedRun:
    around = Surroundings(study.root.folder, environment, cluster)
    return PlannedRun(study, left_to_ask(study), around, calls or {})


FEW_FLOWS = {"recipient": ["its manufacturer"], "sender": ["a fitness tracker"]}


@pytest.mark.parametrize(
    ("arm", "begins", "leaves_out"),
    [
        ({"templates": 6}, "", []),
        ({"templates": 5}, "6,912 flows x 5 wordings", ["p_again"]),
        (
            {"templates_for": {"planted-uniform": 2}},
            "6,912 flows x 2 wordings",
            ["its interval", "p_again"],
        ),
        (
            {"templates": 1},
            "6,912 flows x 1 wording are",
            ["same side", "its interval", "p_again"],
        ),
        (
            {"select": {**FEW_FLOWS, "information_type": ["owner's heart rate"]}},
            "12 flows x 11 wordings",
            ["p_again"],
        ),
        (
            {"select": {**FEW_FLOWS, "transmission_principle": ["if owner is notified"]}},
            "9 flows x 11 wordings",
            ["headline", "p_again"],
        ),
    ],
)
def test_what_the_report_cannot_say_is_known_before_anything_is_asked(elsewhere, arm, begins, leaves_out):
    found = told(check.look_at_report(planned(study_of(Root(PROJECT), ["planted-uniform"], **arm))))
    assert [severity for severity, _ in found] == ["warning"] * bool(leaves_out)
    for _, text in found:
        assert text.startswith(f"arms.main: {begins}")
        said = text.partition("\n")[2].replace("wordings, ", "").split(", ")
        assert [part.startswith(what) for part, what in zip(said, leaves_out, strict=True)] == [True] * len(
            said
        )


def test_a_second_line_of_a_message_is_indented():
    assert str(CheckLine("error", "keys", "a\nb")) == "error    keys         a\n                      b"


def test_the_command_has_a_line_per_check_and_exits_1_on_errors_alone(elsewhere, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert check.main([]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith("8 models in 1 arm left to ask, 1,824,768 prompts")
    assert [line.split()[1] for line in lines] == [each.name for each in checks()]
    assert {line.split()[0] for line in lines} == {"ok", "skipped"}
    assert "skipped  keys         nothing to check" in lines
    assert len({each.name for each in checks()}) == len(lines) >= 8
    (elsewhere / "s.yaml").write_text("{models: [gpt-4o-mini], study: s}")
    assert check.main(["--configfile", "s.yaml"]) == 1
    assert (
        "error    keys         OPENAI_API_KEY is not set; export the endpoint's key in this shell (for gpt-4o-mini)"
        in capsys.readouterr().out
    )
    few = ["engine=planted", "arms={main: {dataset: iot, prompts: chatgpt, templates: 5}}"]
    assert check.main(["--configfile", "s.yaml", "--config", *few]) == 0
    assert "\nwarning " in capsys.readouterr().out
    assert check.main(["--configfile", "nosuch.yaml"]) == 2
    assert "nosuch.yaml: cannot be read" in capsys.readouterr().err
    assert check.main(["--profile", "nosuch"]) == 2
    assert "profile 'nosuch'" in capsys.readouterr().err


def responses_of(study: Study, folder: Path, *texts: str, variant: str = "0_0") -> None:
    """Write the responses of ``gpt-4o-mini``, all about flow 3."""
    request, flows = request_of(study, "main", "gpt-4o-mini"), flows_of(study, "iot")
    assert flows is not None
    facts = response_metadata(Questions.of(request, flows, variants_of(study, "main")[0]))
    frame = make_responses(texts, flow=np.full(len(texts), 3, dtype=np.int32), variant=variant)
    tables.write(frame, folder / "results/s/responses/main/gpt-4o-mini.parquet", tables.RESPONSES, facts)


@pytest.mark.parametrize("value", ["[1", "!!int x", "2026-01-01"])
def test_a_value_of_config_that_cannot_be_read_gets_a_message(value, capsys):
    assert check.main(["--config", f"seed={value}"]) == 2
    assert "--config seed: not valid YAML at line 1" in capsys.readouterr().err


def test_what_has_been_asked_is_not_checked_until_a_setting_changes(elsewhere):
    study = study_of(Root(PROJECT), ["gpt-4o-mini"])
    assert [finding.severity for finding in check.look_at_keys(planned(study)) or []] == ["error"]
    responses_of(study, elsewhere)
    assert check.look_at_keys(planned(study)) is None
    for changed in ({"temperature": 1}, {"templates": 3}, {"max_tokens": 7}):
        again = study_of(Root(PROJECT), ["gpt-4o-mini"], **changed)
        assert check.look_at_keys(planned(again)), changed


def test_a_file_of_expected_values_is_read_before_anything_is_asked(elsewhere):
    entry = {"kind": "delta", "arms": ["main"], "expected": "expected.csv"}

    def look(text: str) -> list[tuple[str, str]]:
        (elsewhere / "expected.csv").write_text(text)
        study = study_of(Root(PROJECT), ["gpt-4o-mini"], {"distance": entry, "again": entry})
        return told(check.look_at_expectations(planned(study)))

    assert look("recipient,expected\nowner's doctor,1\n") == []
    ((severity, fault),) = look("recipent,expected\nowner's doctor,1\n")
    assert severity == "error"
    assert fault.startswith("analyses.again.expected: expected.csv: line 1: 'recipent'")
    assert "did you mean 'recipient'" in fault
    ((_, fault),) = look("recipient,expected\nowner's docter,1\n")
    assert "did you mean 'owner's doctor'" in fault
    assert check.look_at_expectations(planned(study_of(Root(PROJECT), ["gpt-4o-mini"]))) is None


def overridden(folder: Path, *lines: str) -> Study:
    """Return a study with these lines in its file of manually coded answers."""
    (folder / "mine.csv").write_text("\n".join(lines) + "\n")
    made = {"study": "s", "models": ["gpt-4o-mini"], "arms": {"main": ARM}, "overrides": "mine.csv"}
    return load(Root(PROJECT), made)


HEADER = "text,arm,model,flow,variant,level"


def test_manually_coded_answers_are_read_before_anything_is_asked(elsewhere):
    def look(*lines: str) -> list[tuple[str, str]]:
        return told(check.look_at_overrides(planned(overridden(elsewhere, *lines))))

    wrong = "mine.csv, line 2: level is '9'; allowed: -2, -1, 0, 1, 2"
    assert look("text,level", "well,9") == [("error", wrong)]
    faults = look(HEADER, ",mian,gpt-4o-mini,3,0_0,1", ",main,gpt-4o,3,0_0,1")
    assert faults[0][1].startswith("mine.csv, line 2: there is no arm 'mian'")
    assert faults[1][1].startswith("mine.csv, line 3: arm 'main' does not ask 'gpt-4o'")
    assert check.look_at_overrides(planned(study_of(Root(PROJECT), ["gpt-4o-mini"]))) is None


def test_a_line_about_no_response_is_found_where_the_responses_are_there(elsewhere):
    study = overridden(elsewhere, HEADER, "well,,,,,1", ",main,gpt-4o-mini,3,0_0,1")
    assert told(check.look_at_overrides(planned(study))) == []
    responses_of(study, elsewhere, "well")
    assert told(check.look_at_overrides(planned(study))) == []
    responses_of(study, elsewhere, "well", variant="0_1")
    ((severity, fault),) = told(check.look_at_overrides(planned(study)))
    assert severity == "error"
    assert fault.startswith("mine.csv, line 3: no response of this study has this place")
    responses_of(study, elsewhere)
    ((_, fault),) = told(check.look_at_overrides(planned(study)))
    assert "mine.csv, line 2: no response of this study has the text 'well' (and 1 further lines: 3)" in fault
    unasked = PlannedRun(study, {("main", "gpt-4o-mini"): 5}, Surroundings(study.root.folder, {}, False), {})
    assert told(check.look_at_overrides(unasked)) == []


# --- Keys, also of a paraphraser


def test_the_key_of_a_paraphraser_is_needed_too(elsewhere):
    declared = {"title": "Mine", "source": "generate", "paraphraser": "gpt-4o-mini", "scale": "acceptability"}
    declared |= {"original": ORIGINAL, "count": 3, "tries": 1, "temperature": 1, "seed": 1}
    root = project(elsewhere, {}, {"mine": declared})
    study = study_of(root, ["planted-gpt-4o-mini"], prompts="mine")
    ((_, text),) = told(check.look_at_keys(planned(study)))
    assert text.startswith(
        "OPENAI_API_KEY is not set; export the endpoint's key in this shell (for gpt-4o-mini)"
    )
    assert check.look_at_keys(planned(study, OPENAI_API_KEY="x")) == []
    ((severity, text),) = told(check.look_at_paraphrases(planned(study)))
    assert severity == "warning"
    assert "then stops so that you can read" in text


def test_a_vignette_that_runs_into_the_next_sentence_is_found(elsewhere):
    mine = {"title": "Mine", "paraphraser": "me", "origin": {"citation": "c", "licence": "l"}}
    judge = "Judge this: {scenario} Answer with one of: {options}"
    acceptable = [ORIGINAL, judge, "Judge {scenario} {options}"]
    sets = {
        "mine": {**mine, "scale": "acceptability", "templates": acceptable},
        "agreed": {**mine, "scale": "agreement", "templates": [judge]},
    }
    root = project(elsewhere, {}, sets)
    study = study_of(root, ["planted-gpt-4o-mini"], prompts="mine")
    (first, text), (second, other) = told(check.look_at_sentences(planned(study)))
    assert (first, second) == ("warning", "warning")
    assert "mine.yaml: templates[1]: the vignette runs into the next sentence ('{scenario} Answer')" in text
    assert "('{scenario} {options}')" in other
    # ConfAIde's vignettes end with a full stop, and are in a file that is not here.
    study = study_of(root, ["planted-gpt-4o-mini"], prompts="agreed", dataset="confaide_2a")
    assert told(check.look_at_sentences(planned(study))) == []


# --- Checkpoints


def served(**stated: Any) -> dict[str, Any]:
    return {"m": {"engine": "vllm", "family": "f", "capacity": 1, **stated}}


def checkpoint(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").touch()
    return folder


def look(root: Root, **environment: str) -> list[tuple[str, str]]:
    return told(check.look_at_checkpoints(planned(study_of(root, ["m"]), **environment)))


def test_a_local_folder_must_hold_a_checkpoint(elsewhere):
    root = project(elsewhere, served(source="./weights/m"))
    ((severity, text),) = look(root)
    assert severity == "error"
    assert text.startswith("m: the folder ./weights/m does not exist; correct `source` in config/models.yaml")
    (elsewhere / "weights/m").mkdir(parents=True)
    assert "has no complete checkpoint" in look(root)[0][1]
    (elsewhere / "weights/m").rmdir()
    checkpoint(elsewhere / "weights/m")
    (elsewhere / "weights/m/._x.index.json").write_bytes(b"\0\xff")
    assert look(root) == []
    for path in (elsewhere / "weights/m").glob("*.safetensors"):
        path.rename(path.with_name(f"._{path.name}"))
    assert "has no complete checkpoint" in look(root)[0][1]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"source": "org/m", "revision": null}'])
def test_a_damaged_record_of_a_fetch_is_one_message(elsewhere, content):
    """Without its commit another checkpoint would be asked, and all again."""
    lock = elsewhere / "results/s/.checkpoints/m.json"
    lock.parent.mkdir(parents=True)
    lock.write_text(content)
    with pytest.raises(DataError, match=r"m\.json: does not state which checkpoint was fetched; delete it"):
        look(project(elsewhere, served(source="org/m")))


@pytest.mark.parametrize("revision", [None, "a" * 40, "v1"])
def test_a_hub_id_is_looked_up_in_the_cache_and_offline_it_must_be_there(elsewhere, revision):
    root = project(elsewhere, served(source="org/m", revision=revision))
    home = {"HF_HOME": str(elsewhere / "hf")}
    ((severity, text),) = look(root, **home)
    assert severity == "warning"
    assert text.startswith("m (org/m): not on this machine yet; a run downloads them first")
    ((severity, text),) = look(root, HF_HUB_OFFLINE="1", **home)
    assert severity == "error"
    assert "`make fetch`" in text
    cache = elsewhere / "hf/hub/models--org--m"
    commit = "a" * 40
    checkpoint(cache / "snapshots" / commit)
    (cache / "refs").mkdir()
    (cache / "refs" / ("v1" if revision == "v1" else "main")).write_text(commit)
    assert look(root, HF_HUB_OFFLINE="1", **home) == []
    (cache / "snapshots" / commit / "model.safetensors").unlink()
    assert [severity for severity, _ in look(root, **home)] == ["warning"]


# --- SLURM


def sbatch(folder: Path, script: str) -> dict[str, str]:
    """Put a command sbatch before the others."""
    program = folder / "bin/sbatch"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}


def slurm(environment: dict[str, str], **calls: list[str]) -> list[tuple[str, str]]:
    study = study_of(Root(PROJECT), ["planted-gpt-4o-mini"])
    return told(check.look_at_slurm(planned(study, cluster=True, calls=calls, **environment)))


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("allocation failure: Whatever: else", "Whatever: else"),
        ("Whatever else", "Whatever else"),
        (
            "sbatch: error: Name a partition: cpu or gpu.\nsbatch: error: Unspecified error",
            "Name a partition: cpu or gpu.; Unspecified error",
        ),
        ("", "sbatch ends with 1 and no message"),
    ],
)
def test_what_slurm_refuses_is_told_with_its_words_and_what_was_asked(elsewhere, printed, reason):
    said = f"echo '{printed}' >&2;"
    refusing = f'case "$*" in *--gpus*) {said} exit 1;; esac'
    jobs = [f"ask_vllm m{number} 1-of-1" for number in range(5)]
    found = slurm(sbatch(elsewhere, refusing), **{"--gpus=1": jobs, "-t 5": ["ask_openai remote 1-of-1"]})
    ((severity, text),) = found
    first, second = text.splitlines()
    assert (severity, first) == (
        "error",
        f"{', '.join(jobs[:3])} and 2 more: SLURM would refuse it: {reason}",
    )
    key = "set slurm_partition" if "partition" in printed else "correct"
    assert second.startswith(key)
    assert second.endswith("`set-resources: ask_vllm` of your profile (asked: --gpus=1)") or "sinfo" in second


SILENT = "); is this machine part of the cluster"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (None, "command sbatch is not on this machine"),
        ("echo 'allocation failure: Unable to contact slurm controller (failure)' >&2; exit 1", SILENT),
        ("echo 'sbatch: fatal: Could not establish a configuration source' >&2; exit 1", SILENT),
    ],
)
def test_without_slurm_there_is_one_error(elsewhere, script, words):
    environment = sbatch(elsewhere, script) if script else {"PATH": str(elsewhere / "nothing")}
    jobs = {"-t 5": ["ask_openai a 1-of-1"], "-t 5 ": ["ask_vllm b 1-of-1"]}
    ((severity, text),) = slurm(environment, **jobs)
    assert severity == "error"
    assert words in text


#: A part of a profile, how its keys may be written, and what sbatch gets for it.
STATED = [
    ({}, "--time=62 --mem=32000 --gpus=2 --cpus-per-task=4 --nodes=1"),
    ({"default-resources": {"slurm_account": "lab", "mem_mb": "7 * attempt"}}, "--account=lab --mem=32000"),
    ({"default-resources": ["slurm_account=lab"]}, "--account=lab"),
    ({"set-resources": {"ask_vllm": {"slurm_partition": "gpu", "runtime": "9 * attempt"}}}, "--time=9"),
    ({"set-resources": ["ask_vllm:slurm_partition=gpu", "ask_vllm:gpu=1"]}, "--partition=gpu --gpus=1"),
    (
        {"set-resources": {"ask_vllm": {"mem": "64GB", "runtime": "1d", "constraint": "a100|h100"}}},
        "--time=1440",
    ),
    ({"set-resources": {"ask_vllm": {"mem": "64GB", "mem_mb_per_cpu": 9}}}, "--mem-per-cpu=9"),
    ({"set-resources": {"ask_vllm": {"constraint": "a100|h100"}}}, "'--constraint=a100|h100'"),
    (
        {"set-resources": {"ask_vllm": {"gpu_model": "h100", "slurm_extra": "'--exclusive'"}}},
        "--gpus=h100:2 --exclusive",
    ),
    (
        {"set-resources": {"ask_vllm": {"cpus_per_gpu": 6}}, "slurm-qos": "high"},
        "--cpus-per-gpu=6 --qos=high",
    ),
    ({"set-threads": {"ask_vllm": 3}}, "--cpus-per-task=3"),
    ({"set-resources": {"ask_vllm": {"mem_mb": "input.size_mb", "cpus_per_task": -1}}}, "--gpus=2"),
]


@pytest.mark.parametrize(("site", "options"), STATED)
def test_jobs_are_what_profiles_and_models_say_a_later_profile_before_an_earlier_one(
    elsewhere, site, options
):
    entry = {"engine": "vllm", "source": "org/m", "family": "f", "gpus": 2, "capacity": 8}
    root = project(elsewhere, {"m": entry, "n": entry | {"source": "org/n"}})
    (elsewhere / "site").mkdir()
    (elsewhere / "site/profile.v10+.yaml").write_text(yaml.safe_dump(site))
    (elsewhere / "site/config.v9+.yaml").write_text("executor: local")
    profiles = [str(PROJECT / "profiles/slurm"), str(elsewhere / "site")]
    made = check.plan_run(study_of(root, ["m", "n", "planted-gpt-4o-mini"]), profiles, False)
    (call, jobs), (planted, (job,)) = made.calls.items()
    assert jobs == ["ask_vllm m 1-of-1", "ask_vllm n 1-of-1"]
    assert set(shlex.split(options)) <= set(shlex.split(call))
    assert job == "ask_planted main planted-gpt-4o-mini"
    assert {"--mem=1500", "--time=10", "--cpus-per-task=1"} <= set(shlex.split(planted))
    assert made.surroundings.cluster
    assert not check.plan_run(study_of(root, ["m"]), [], False).calls


def test_what_is_no_profile_is_one_message(elsewhere):
    (elsewhere / "empty").mkdir()
    (elsewhere / "empty/config.yaml").touch()
    study = study_of(Root(PROJECT), ["planted-gpt-4o-mini"])
    for name, file in {"nowhere": "nowhere", "empty": "empty/config.yaml"}.items():
        with pytest.raises(ConfigError, match=f"profile '{name}': {file} is no file with keys such as"):
            check.plan_run(study, [name], False)
