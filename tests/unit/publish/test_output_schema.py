"""The column contract is a promise: nothing that the last release wrote disappears or changes its meaning unnoticed.

``tests/data/output_schema.json`` is the schema of the last release. After a release:
``python -m cinorms.publish.output_schema tests/data/output_schema.json``. Where only the words of a description
changed: the same with ``--words``.
"""

import copy
import json
import re
from pathlib import Path

import yaml

import cinorms
from cinorms.publish.output_schema import OUTPUT_SCHEMA, broken, in_new_words, main, output_schema

ROOT = Path(__file__).parents[3]
RELEASED = json.loads((ROOT / "tests/data/output_schema.json").read_text(encoding="utf-8"))


def test_nothing_that_was_released_is_gone_without_a_new_number_and_a_word_in_the_changes():
    found = broken(RELEASED["files"], output_schema()["files"])
    if found:
        told = "\n".join(found)
        do = "Restore it, or raise OUTPUT_SCHEMA and write 'Output schema N' into CHANGELOG.md (only words: --words)"
        assert RELEASED["output_schema"] < OUTPUT_SCHEMA, f"{told}\n{do}"
        changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        assert re.search(rf"[Oo]utput schema {OUTPUT_SCHEMA}\b", changes), f"{told}\n{do}"
    else:
        assert RELEASED["output_schema"] <= OUTPUT_SCHEMA


def test_what_breaks_the_promise_is_named():
    now = output_schema()["files"]
    assert broken(now, now) == []
    promised = copy.deepcopy(now)
    promised["norms"]["columns"]["gone"] = {"type": "int8", "about": "Was here."}
    promised["norms"]["columns"]["n_valid"]["type"] = "string"
    promised["answers"]["columns"]["level"]["about"] = "Something else."
    promised["answers"]["key"] = ["flow"]
    promised["lost"] = {"key": [], "columns": {}}
    found = broken(promised, now)
    assert [line.split(":")[0] for line in found] == ["answers", "answers", "norms", "norms", "lost"]
    assert {"norms: column 'gone' is gone", "norms: column 'n_valid' was string, it is int32"} < set(found)


def test_a_new_column_breaks_nothing_and_new_words_can_be_accepted(tmp_path):
    now = output_schema()
    earlier = copy.deepcopy(now)
    del earlier["files"]["norms"]["columns"]["entropy"]
    assert broken(earlier["files"], now["files"]) == []
    earlier["files"]["norms"]["columns"]["n_valid"]["about"] = "Older words."
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(earlier), encoding="utf-8")
    main(["--words", str(path)])
    accepted = json.loads(path.read_text(encoding="utf-8"))
    assert broken(accepted["files"], now["files"]) == []
    assert "entropy" not in accepted["files"]["norms"]["columns"]
    assert in_new_words(earlier, {})["files"] == earlier["files"]
    main([str(path)])
    assert json.loads(path.read_text(encoding="utf-8")) == now


def test_every_table_of_the_stages_and_every_kind_is_promised():
    files = output_schema()["files"]
    assert {"norms", "answers", "responses", "csv/plan", "analyses/flow_norms"} <= set(files)
    assert all(column["about"] for file in files.values() for column in file["columns"].values())


def test_zenodo_and_the_citation_state_the_same():
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    for key in ("title", "version", "license", "keywords"):
        assert zenodo[key] == citation[key]
    assert [one["name"] for one in zenodo["creators"]] == [one["name"] for one in citation["authors"]]
    assert zenodo["version"] == cinorms.__version__
