"""Where the files of a study are looked up: in a user's own folders, then in the project."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cinorms.core.digest import package_of
from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.study.entries import make_entry

from ...studies import arm, change, load

MINE = {"engine": "planted", "family": "mine", "planted": {"noise": 1}}


@pytest.fixture
def own(copied: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of the user's own, in the folder that the study runs in."""
    run = tmp_path / "run"
    for kind, name, new in (("vignettes", "coppa", "doors"), ("prompts", "chatgpt", "two")):
        (run / "mine" / kind).mkdir(parents=True)
        shutil.copy(copied.folder / f"resources/{kind}/{name}.yaml", run / f"mine/{kind}/{new}.yaml")
    (run / "mine/models.yaml").write_text(yaml.safe_dump({"my-model": MINE}), encoding="utf-8")
    monkeypatch.chdir(run)
    return run / "mine"


def study(**changes: Any) -> dict[str, Any]:
    """Return a study of what the user's folder has."""
    stated = arm(**{"dataset": "doors", "prompts": "two", "models": ["my-model"], **changes})
    return {**stated, "resources": ["mine"], "analyses": {}, "figures": {}, "printed": {}}


def test_the_faults_of_all_files_are_told_at_once(copied, own):
    (own / "models.yaml").write_text(yaml.safe_dump({"my-model": MINE | {"familly": "x"}}), encoding="utf-8")
    (own / "vignettes/doors.yaml").write_text("title: [", encoding="utf-8")
    change(own / "prompts/two.yaml", lambda document: document.pop("origin"))
    with pytest.raises(ConfigError) as caught:
        load(copied, study())
    models, doors, two = str(caught.value).splitlines()
    assert models.startswith("mine/models.yaml: my-model")
    assert f"{own / 'vignettes/doors.yaml'}: not valid YAML at line 1" in doors
    assert "two.yaml: " in two
    assert "'origin'" in two


def test_ones_own_are_found_first_and_the_projects_still_are(copied, own):
    (own / "vignettes/._doors.yaml").write_bytes(b"\0\5")  # macOS writes such files
    shutil.copy(own / "vignettes/doors.yaml", own / "vignettes/iot.yaml")
    change(own / "models.yaml", lambda models: models.update({"tulu-2-7b": MINE}))
    mine = load(copied, study())
    assert "._doors" not in mine.root.names("vignettes")
    for name in ("doors", "iot"):
        assert mine.dataset(name).path == own / f"vignettes/{name}.yaml"
        assert mine.root.is_own(mine.dataset(name).path)
    assert mine.dataset("coppa").path == copied.folder / "resources/vignettes/coppa.yaml"
    assert mine.prompts_file("two") == str(own / "prompts/two.yaml")
    files = {name: mine.registry[name].file for name in ("my-model", "tulu-2-7b", "tulu-2-13b")}
    assert list(files.values()) == ["mine/models.yaml", "mine/models.yaml", "config/models.yaml"]
    assert mine.registry["tulu-2-7b"].engine == "planted"


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("copa", "'copa' is not a dataset; did you mean 'coppa'? allowed: "),
        ("doors", "it names the dataset itself; leave it out"),
        ("confaide_2b", "'confaide_2b' has the flows of 'confaide_2a'; state 'confaide_2a' here too"),
        ("iot", "'iot' has 6,912 flows, this dataset has 1,800; both need the same flows under the same"),
    ],
)
def test_a_dataset_that_tells_the_flows_of_another_has_as_many(copied, own, told, message):
    change(own / "vignettes/doors.yaml", lambda doors: doors.update(flows_of=told))
    with pytest.raises(ConfigError) as caught:
        load(copied, study())
    assert str(caught.value).startswith(f"mine/vignettes/doors.yaml: flows_of: {message}")


@pytest.mark.parametrize(
    ("changes", "key", "near", "searched"),
    [
        ({"dataset": "dors"}, "arms.main.dataset", "doors", "mine/vignettes, resources/vignettes"),
        ({"prompts": "tvo"}, "arms.main.prompts", "two", "mine/prompts, resources/prompts"),
        ({"models": ["my-modl"]}, "arms.main.models", "my-model", "mine/models.yaml, config/models.yaml"),
    ],
)
def test_a_message_lists_the_names_and_the_places_of_both(copied, own, changes, key, near, searched):
    with pytest.raises(ConfigError) as caught:
        load(copied, study(**changes))
    message = str(caught.value)
    assert message.startswith(f"study.yaml: {key}: ")
    assert f"did you mean '{near}'?" in message
    assert any(name in message for name in ("iot", "chatgpt", "tulu-2-7b"))
    assert message.endswith(f"; looked in {searched}")


@pytest.mark.parametrize(
    ("folders", "message"),
    [
        (["mien"], "there is no folder 'mien' in {cwd}, where the study runs"),
        (["mine", "mine/prompts"], "the folder 'mine/prompts' has none of checkpoints/, "),
        (["mine", "mine"], "an entry appears twice"),
        ("mine", "'mine' is not allowed; allowed: a list of text"),
    ],
)
def test_a_folder_that_is_none_is_refused(copied, own, folders, message):
    with pytest.raises(ConfigError) as caught:
        load(copied, {**study(), "resources": folders})
    assert str(caught.value).startswith(f"study.yaml: resources: {message.format(cwd=Path.cwd())}")


def test_paraphrases_are_not_made_in_a_project_that_was_fetched(copied, own):
    declared = {"title": "Mine", "source": "generate", "paraphraser": "tulu-2-7b", "scale": "acceptability"}
    original = "Please rate this scenario: {scenario}. Answer with one of: {options}"
    how = {"original": original, "count": 3, "tries": 2, "temperature": 1, "seed": 7}
    fetched, asked = replace(copied, is_fetched=True), study(prompts="new", models=["tulu-2-7b"])
    theirs = copied.folder / "resources/prompts/new.yaml"
    theirs.write_text(yaml.safe_dump(declared | how), encoding="utf-8")
    assert load(copied, asked).awaited()
    assert load(fetched, asked | {"engine": "planted"}).awaited()
    with pytest.raises(ConfigError, match=r"^resources/prompts/new.yaml: its paraphrases do not exist yet"):
        load(fetched, asked)
    theirs.rename(own / "prompts/new.yaml")
    assert load(fetched, asked).awaited()


KIND = """
from cinorms.entries.entry import Entry
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms


def mine(frames, entry: Entry[OfArms]): ...


KINDS = (Kind("mine", "Mine.", mine, "answers"),)
"""


def test_a_kind_of_ones_own_is_a_file_in_a_folder_of_the_section(copied, own):
    (own / "analyses").mkdir()
    (own / "analyses/my_kind.py").write_text(KIND, encoding="utf-8")
    stated = study() | {"analyses": {"a": {"kind": "mine", "arms": ["main"]}}}
    made = make_entry(load(copied, stated), "analyses", "a")
    assert made.declared.module == "cinorms.analyses.my_kind"
    assert made.options.arms == ("main",)
    assert package_of(made.declared.module) == own / "analyses/my_kind.py", "edited, it is run again"
    theirs = study(dataset="iot", prompts="chatgpt", models=["tulu-2-7b"]) | {"resources": []}
    with pytest.raises(ConfigError, match="'mine' is not a kind"):
        load(copied, theirs | {"analyses": stated["analyses"]})
