"""Every table is written under one schema: what does not fit is refused with a useful message."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cinorms.core import tables
from cinorms.core.checksums import read_tidy, write_tidy
from cinorms.core.errors import DataError
from cinorms.core.tables import NORMS, PLANTED, RESPONSES, VIGNETTES, TableSchema


def categories(values: list[Any]) -> pd.Categorical:
    known = list(dict.fromkeys(value for value in values if value is not None))
    return pd.Categorical(values, categories=pd.Index(known, dtype="str"))


FLOWS = np.array([0, 1], dtype=np.int32)
FRAMES: dict[str, tuple[TableSchema, pd.DataFrame]] = {
    "vignettes": (
        VIGNETTES,
        pd.DataFrame({"flow": FLOWS, "sender": categories(["a door lock", "a thermostat"])}).assign(
            vignette=pd.array(["one", "zwei ü 🙂"], dtype="str"), expected=[np.nan, -2.5]
        ),
    ),
    "responses": (
        RESPONSES,
        pd.DataFrame(
            {
                "flow": np.array([0, 0, 1], dtype=np.int32),
                "variant": categories(["2_0", "10_0", "2_0"]),
                "order": categories(["01234", "43210", "01234"]),
                "text": categories(["neutral", None, ""]),
                "finish_reason": categories(["stop", "error", "length"]),
                "n_prompt_tokens": pd.array([79, pd.NA, 80], dtype="Int32"),
                "n_output_tokens": pd.array([pd.NA] * 3, dtype="Int32"),
                "p_options": pd.Series([None, np.array([0.5, 0.5, 0], dtype=np.float32), None], dtype=object),
            }
        ),
    ),
    "planted": (
        replace(PLANTED, counts="level"),
        pd.DataFrame({"flow": FLOWS, "linear": [0.5, -0.5], "residual": [0.1, 0.2]}).assign(
            level=pd.array([2, pd.NA], dtype="Int8"), n_m2=np.array([0, 3], dtype=np.int32), n_p1=np.int32(1)
        ),
    ),
}
NULL = " not null> was non-nullable but pandas column had 1 null values"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a place for a table, in a folder that does not exist yet."""
    return tmp_path / "deep" / "table.parquet"


def some(name: str = "planted") -> tuple[TableSchema, pd.DataFrame]:
    schema, frame = FRAMES[name]
    return schema, frame.copy()


def refusal(frame: pd.DataFrame, path: Path, schema: TableSchema) -> str:
    """Return the message with which ``frame`` is refused, after checking that nothing was left behind."""
    with pytest.raises(DataError) as caught:
        tables.write(frame, path, schema)
    assert not path.exists()
    assert not path.parent.exists() or not list(path.parent.iterdir())
    message = str(caught.value)
    assert message.startswith(f"table {schema.name}: ")
    return message


@pytest.mark.parametrize("name", FRAMES)
def test_round_trip_keeps_values_types_and_what_is_missing(name, path):
    schema, frame = some(name)
    if schema.extra:  # columns that the schema does not name, and a category that no row has
        frame = frame.assign(recipient=pd.Categorical(["x", None], categories=["y", "x"]))
    tables.write(frame.head(1), path, schema)
    assert tables.read(path, schema).astype(str).equals(frame.head(1).astype(str))
    tables.write(frame, path, schema)
    pd.testing.assert_frame_equal(tables.read(path, schema), frame)
    tables.write(frame.head(0), path, schema)
    back = tables.read(path, schema)
    assert list(back.columns) == list(frame.columns)
    assert len(back) == 0


@pytest.mark.parametrize("name", FRAMES)
def test_the_same_frame_gives_the_same_bytes_and_facts_are_kept(name, path):
    schema, frame = some(name)
    tables.write(frame, path, schema, {"ümlaut": "ß", "a": "2"})
    assert tables.metadata(path) == {"a": "2", "ümlaut": "ß"}
    first = path.read_bytes()
    # Neither the index nor the order in which facts are given may show in the file.
    tables.write(frame.set_axis([7, 3, 9][: len(frame)]), path, schema, {"a": "2", "ümlaut": "ß"})
    assert path.read_bytes() == first
    tables.write(frame, path, schema)
    assert tables.metadata(path) == {}


def test_more_rows_than_one_row_group_keep_one_set_of_categories(path):
    n = 1_200_000
    frame = pd.DataFrame(
        {
            "flow": np.arange(n, dtype=np.int32),
            "sender": pd.Categorical.from_codes(np.arange(n) // 600_000, categories=pd.Index(["z", "a"])),
            "vignette": pd.array(["v"], dtype="str").repeat(n),
            "expected": np.nan,
        }
    )
    tables.write(frame, path, VIGNETTES)
    assert pq.ParquetFile(path).num_row_groups > 1
    sender = tables.read(path, VIGNETTES, columns=["sender"])["sender"]
    assert list(sender.cat.categories) == ["z", "a"]
    assert (sender.cat.codes == np.arange(n) // 600_000).all()


@pytest.mark.parametrize(
    ("name", "column", "values", "words"),
    [
        ("planted", "flow", np.array([4, 4]), "key ('flow',) is not unique, e.g. [{'flow': 4}]"),
        ("planted", "liner", [1.0, 2.0], "columns missing [], columns not in the schema ['liner']"),
        ("planted", "linear", [np.nan, 1.0], f"Field pyarrow.Field<linear: double{NULL}"),
        ("planted", "flow", pd.array([0, pd.NA], dtype="Int32"), f"Field pyarrow.Field<flow: int32{NULL}"),
        ("vignettes", "vignette", pd.array(["a", None]), f"Field pyarrow.Field<vignette: string{NULL}"),
        ("responses", "finish_reason", categories(["stop", None, "stop"]), NULL),
        ("planted", "flow", [0.5, 1.0], "flow"),  # would be cut to a whole number
        ("planted", "flow", [0, 2**40], "flow"),
        ("planted", "level", pd.array([1, 300], dtype="Int16"), "level"),
        ("planted", "linear", ["a", "b"], "linear"),
    ],
)
def test_what_does_not_fit_its_column_is_refused_by_the_column_s_name(name, column, values, words, path):
    schema, frame = some(name)
    frame[column] = values
    assert words in refusal(frame, path, schema)


def test_missing_columns_are_named(path):
    schema, frame = some()
    message = refusal(frame.rename(columns={"linear": "liner"}), path, schema)
    assert message == "table planted: columns missing ['linear'], columns not in the schema ['liner']"


def test_another_table_another_version_and_no_table_are_refused(path, monkeypatch):
    schema, frame = some()
    tables.write(frame, path, schema)
    with pytest.raises(DataError) as caught:
        tables.read(path, NORMS)
    assert str(caught.value) == (f"{path}: has format planted v1, expected norms v2; delete it and rerun")
    with pytest.raises(DataError, match="has format planted v1, expected planted v2"):
        tables.read(path, replace(schema, version=2))
    frame.to_parquet(path)
    with pytest.raises(DataError, match="another program wrote it"):
        tables.read(path, schema)
    path.write_bytes(b"not a table at all")
    with pytest.raises(DataError, match="cannot be read"):
        tables.read(path, schema)


@pytest.mark.parametrize("name", FRAMES)
def test_a_changed_bit_changes_no_value_and_a_file_that_was_cut_or_grew_is_refused(name, path):
    schema, frame = some(name)
    tables.write(frame, path, schema, {"spec": '{"seed": 1}'})
    data, refusals = path.read_bytes(), []
    for bit in random.Random(2026).sample(range(8 * len(data)), 100):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            assert tables.metadata(path) == {"spec": '{"seed": 1}'}
            pd.testing.assert_frame_equal(tables.read(path, schema), frame)
        except DataError as error:
            refusals.append(str(error))
    assert len(refusals) > 94
    assert all(f"{path}: " in text and "delete it and rerun" in text for text in refusals)
    for other in (*(data[:n] for n in range(0, len(data), 97)), data + b"\0", data + data, b"", data[:-8]):
        path.write_bytes(other)
        for reading in (lambda: tables.read(path, schema), lambda: tables.metadata(path)):
            with pytest.raises(DataError, match=f"cannot be read .*{schema.remedy}"):
                reading()


def responses(flows: list[int], variants: list[str]) -> pd.DataFrame:
    _, frame = some("responses")
    rows = [(flow, variant) for flow in flows for variant in variants]
    whole = pd.concat([frame.head(1)] * len(rows), ignore_index=True)
    return whole.assign(
        flow=np.array([flow for flow, _ in rows], dtype=np.int32),
        variant=pd.Categorical([variant for _, variant in rows], categories=pd.Index(variants)),
        text=categories([f"{flow} {variant}" for flow, variant in rows]),
    )


def test_rows_are_in_the_order_of_flows_and_of_the_prompts_table():
    """As text, 10_0 would come before 2_0."""
    found = tables.by_key(responses([1, 0], ["2_0", "10_0"]), RESPONSES)
    assert (found["flow"].tolist(), found["variant"].tolist()) == ([0, 0, 1, 1], ["2_0", "10_0"] * 2)
    assert found["text"].tolist() == ["0 2_0", "0 10_0", "1 2_0", "1 10_0"]


def test_tidy_tables_are_written_for_programs_and_for_people(tmp_path):
    frame = pd.DataFrame(
        {"model": ["a", 'ü,"b"'], "level": pd.array([1, pd.NA], dtype="Int8"), "share": [0.5, np.nan]}
    )
    parquet, csv = tmp_path / "t" / "x.parquet", tmp_path / "t" / "x.csv"
    with pytest.raises(Exception, match="object"):
        write_tidy(pd.DataFrame({"x": [object()]}), parquet, csv)
    assert not parquet.exists()
    write_tidy(frame, parquet, csv)
    assert csv.read_text(encoding="utf-8") == 'model,level,share\na,1,0.5\n"ü,""b""",,\n'
    pd.testing.assert_frame_equal(pd.read_parquet(parquet), frame)
    pd.testing.assert_frame_equal(read_tidy(parquet), frame)
    assert len(list((tmp_path / "t").iterdir())) == 2
    parquet.write_bytes(parquet.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"x\.parquet: .*delete it and rerun"):
        read_tidy(parquet)
