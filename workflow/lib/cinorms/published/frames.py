"""Read what the authors of the papers published: scored responses (pickled frames) and raw CSV files.

A pickle is a program. These are read by an unpickler that runs nothing: each of the few pandas and
NumPy names in `_ADMITTED` becomes an inert record of what was asked for, every other name is refused,
and the frame is built here from the records. No pandas or NumPy code is ever called by the file.
"""

import io
import lzma
import pickle
import pickletools
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.core.scales import papers_scale
from cinorms.prompts.orders import orders_of

#: Largest unpacked file that is read: the published ones have up to 32 MB, a bomb would have more.
MAX_BYTES = 128 * 2**20

#: Most memory for unpacking, in bytes: a file states the size of its dictionary; the published ones have 64 MiB.
MAX_DICTIONARY = 128 * 2**20

#: Most rows, columns and cells a frame may claim to have; the published ones have up to 165,405, 78 and 4,313,088.
MAX_ROWS, MAX_COLUMNS, MAX_CELLS = 10**7, 10_000, 5 * 10**7

#: Most instructions of a pickle; the published ones have up to 1,499,499. One makes at most some 250 bytes.
MAX_OPCODES = 5_000_000
#: Most tuples of a pickle; the published ones have up to 139. Hashing tuples in tuples overflows the C stack.
MAX_TUPLES = 10_000

#: The wide frames' answer columns: template number, then the number of the random answer order.
ANSWER_COLUMN = re.compile(r"p#(\d+)(?:_(\d+))?")

#: The score that marks an invalid answer in the frame "with_NA".
INVALID_SCORE = -100

#: Models that were asked only the first templates (PETS section 4.3: for cost), by their published name.
FEW_TEMPLATES = {"gpt-4o-mini-8B": 3}

#: A column of a frame with at least so many values is data and no condition.
FEWEST_VALUES = 20

#: The columns of the authors' raw CSV files.
RAW_COLUMNS = ("Scenario", "Prompt", "Response", "prompt_id", "likert", "likert_order_id")

_PLAIN = {str, int, float, bool, type(None)}


class _Record:
    """What a pickle asked to build: arguments and state, nothing executed.

    A pickle that sends state to the class itself (to change it) fails, because `__setstate__` then
    lacks its instance.
    """

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> "_Record":
        record = object.__new__(cls)
        record.args, record.state = args, None
        return record

    def __setstate__(self, state: Any) -> None:
        self.state = state


#: The admitted names, and what kind of record stands for each; pandas 3 calls its classes by short names.
_ADMITTED = {
    ("pandas", "DataFrame"): "frame",
    ("pandas", "Categorical"): "name",
    ("pandas", "CategoricalDtype"): "categories",
    ("pandas", "Index"): "name",
    ("pandas", "RangeIndex"): "range",
    ("pandas.core.frame", "DataFrame"): "frame",
    ("pandas.core.internals.managers", "BlockManager"): "manager",
    ("pandas._libs.internals", "_unpickle_block"): "block",
    ("pandas._libs.arrays", "__pyx_unpickle_NDArrayBacked"): "categorical",
    ("pandas._libs.missing", "NA"): "missing",
    ("pandas.core.arrays.categorical", "Categorical"): "name",
    ("pandas.core.dtypes.dtypes", "CategoricalDtype"): "categories",
    ("pandas.core.indexes.base", "_new_Index"): "index",
    ("pandas.core.indexes.base", "Index"): "name",
    ("pandas.core.indexes.range", "RangeIndex"): "range",
    ("numpy.core.multiarray", "_reconstruct"): "array",
    ("numpy._core.multiarray", "_reconstruct"): "array",
    ("numpy", "ndarray"): "name",
    ("numpy", "dtype"): "dtype",
    ("builtins", "slice"): "slice",
}
_KINDS = {kind: type(kind, (_Record,), {}) for kind in _ADMITTED.values()}


class _Unpickler(pickle.Unpickler):
    """Admits the names above, each as an inert record; refuses all others before anything is built."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the record for an admitted name; raise `DataError` for any other."""
        kind = _ADMITTED.get((module, name))
        if kind is None:
            raise DataError(
                f"pickle refused: it asks for '{module}.{name}', but only plain pandas and numpy data are "
                "allowed; nothing in it was run. Fetch the file again and check its SHA-256"
            )
        return None if kind == "missing" else _KINDS[kind]


def _is(thing: Any, kind: str) -> bool:
    return type(thing) is _KINDS[kind]


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise DataError(f"pickle refused: {what} is not laid out as in the published frames")


def _array(record: Any) -> np.ndarray[Any, Any]:
    """Return the array of an ``array`` record; objects may only be text, numbers, truth values or missing."""
    _need(_is(record, "array") and isinstance(record.state, tuple), "an array")
    _, shape, kind, fortran, data = record.state
    _need(_is(kind, "dtype") and isinstance(kind.state, tuple), "a numpy type")
    code, order = kind.args[0], kind.state[1]
    _need(code in ("f8", "i8", "i1", "b1", "O8") and order in ("<", ">", "|"), "a numpy type")
    if code == "O8":
        _need(isinstance(data, list) and set(map(type, data)) <= _PLAIN, "a column")
        flat = np.empty(len(data), dtype=object)
        flat[:] = data
    else:
        _need(isinstance(data, bytes), "a column")
        flat = np.frombuffer(data, dtype=np.dtype(order + code))
    return flat.reshape(shape, order="F" if fortran else "C")


def _categorical(record: _Record) -> np.ndarray[Any, Any]:
    dtype, codes = record.state[0], _array(record.state[1])
    _need(_is(dtype, "categories"), "a categorical column")
    categories = np.array([*_index(dtype.state["categories"]), None], dtype=object)
    _need(bool((codes >= -1).all() and (codes < len(categories) - 1).all()), "a categorical column")
    return np.asarray(categories[codes])[np.newaxis, :]  # code -1, missing, is the None at the end


def _index(record: Any) -> np.ndarray[Any, Any]:
    _need(_is(record, "index") and len(record.args) == 2, "an index")
    kind, fields = record.args
    if kind is _KINDS["range"]:
        bounds = (fields["start"], fields["stop"], fields["step"])
        _need(all(type(b) is int for b in bounds) and len(range(*bounds)) <= MAX_ROWS, "an index")
        return np.arange(*bounds)
    return _array(fields["data"])


def _frame(record: Any) -> pd.DataFrame:
    _need(_is(record, "frame") and isinstance(record.state, dict), "the pickle")
    manager = record.state["_mgr"]
    _need(_is(manager, "manager") and len(manager.args) == 2, "the frame")
    blocks, (names, rows) = manager.args
    columns, n_rows = _index(names), len(_index(rows))
    _need(len(columns) <= MAX_COLUMNS and len(columns) * n_rows <= MAX_CELLS, "the frame")
    data: dict[int, np.ndarray[Any, Any]] = {}
    for block in blocks:
        _need(_is(block, "block"), "a block")
        values, placement, _ = block.args
        values = _categorical(values) if _is(values, "categorical") else _array(values)
        sliced = _is(placement, "slice")
        where = np.arange(len(columns))[slice(*placement.args)] if sliced else _array(placement)
        _need(values.shape == (len(where), n_rows), "a block")
        data.update(zip(where.tolist(), values, strict=True))
    _need(sorted(data) == list(range(len(columns))), "the list of columns")
    frame = pd.DataFrame({i: data[i] for i in range(len(columns))})
    frame.columns = pd.Index(columns.tolist())
    return frame


def check_opcodes(pickled: bytes) -> None:
    """Raise ``DataError`` for a pickle that could take much more memory than its bytes, before it is read.

    The reader trusts the numbers that are in it. An honest pickle numbers what it remembers 0, 1, 2, ...: the reader
    reserves memory for every smaller number.
    """
    remembered = tuples = 0
    for count, (opcode, argument, _) in enumerate(pickletools.genops(pickled)):
        tuples += opcode.name.startswith("TUPLE")
        if count >= MAX_OPCODES or tuples > MAX_TUPLES:
            raise DataError("pickle refused: it has more instructions than any published frame")
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT"):
            if int(argument or 0) > remembered:
                raise DataError(
                    f"pickle refused: it remembers thing {remembered} under the number {argument}; fetch the file again"
                )
            remembered += 1
        elif opcode.name == "MEMOIZE":
            remembered += 1


def read_frame(path: str | Path) -> pd.DataFrame:
    """Return the wide frame in a pickle packed as LZMA-alone or xz, with a fresh row index.

    Raises `DataError` if the file is missing, damaged, larger than `MAX_BYTES` unpacked, asks for any
    class or function that is not plain pandas or NumPy data, or is not a frame.
    """
    path = Path(path)
    try:
        reader = lzma.LZMADecompressor(format=lzma.FORMAT_AUTO, memlimit=MAX_DICTIONARY)
        unpacked = reader.decompress(path.read_bytes(), MAX_BYTES + 1)
    except (OSError, lzma.LZMAError) as error:
        raise DataError(f"{path}: not a readable LZMA file ({error}); fetch it again") from error
    if len(unpacked) > MAX_BYTES:
        raise DataError(f"{path}: more than {MAX_BYTES} bytes unpacked; fetch it again")
    try:
        check_opcodes(unpacked)
        return _frame(_Unpickler(io.BytesIO(unpacked)).load())
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except Exception as error:  # a crafted pickle can make the reader fail in any way, but only fail
        raise DataError(f"{path}: not a pickled frame ({type(error).__name__}: {error})") from error


def models(frame: pd.DataFrame) -> list[str]:
    """Return the models in a published frame, without the paraphraser that some names begin with."""
    return sorted(_model_names(frame).unique())


def to_answers(
    frame: pd.DataFrame, model: str, vignettes: pd.DataFrame, prompt_set: str | None = None
) -> pd.DataFrame:
    """Return the answers table (`tables.ANSWERS`) of one model in a published wide frame.

    Rows are joined to ``vignettes`` by their text. ``prompt_set`` is the frame's ``paraphrasing``, needed where it
    holds more than one (gpt, gemini, pegasus).

    The variant is ``t_o`` from a column ``p#t_o`` and ``t_0`` from ``p#t``. A frame has neither the order shown nor
    the reason of an invalid answer, so ``order`` is missing and the status is ``invalid``.
    Levels come from scores -2..2, or -100..100 in steps of 50 in the ConfAIde frame. Variants that a
    model was not asked (`FEW_TEMPLATES`) have no rows; in a frame that marks invalid answers by -100,
    a missing score was not asked either.

    Raises `DataError` if the model, prompt set or a vignette is unknown, a flow comes twice, or a score
    is not on the scale.
    """
    names = _model_names(frame)
    if model not in set(names.unique()):
        raise DataError(f"published frame: no model '{model}'; it has {models(frame)}")
    rows = frame[names == model]
    if prompt_set is not None:
        sets = sorted(rows["paraphrasing"].unique()) if "paraphrasing" in rows else []
        if prompt_set not in sets:
            raise DataError(f"published frame: no prompt set '{prompt_set}' for {model}; it has {sets}")
        rows = rows[rows["paraphrasing"] == prompt_set]
    flow = flows_of(rows["Scenario"], vignettes)
    if flow.duplicated().any():
        raise DataError(f"published frame: model {model} has a vignette twice; {_what_to_choose(rows)}")
    wide = rows[[c for c in rows if ANSWER_COLUMN.fullmatch(str(c))]].astype(np.float64)
    variants = ["_".join((m[1], m[2] or "0")) for m in map(ANSWER_COLUMN.fullmatch, wide.columns) if m]
    templates = np.array([int(name.split("_")[0]) for name in variants])
    _need(len(variants) > 0, "a frame without answer columns")
    asked = np.tile(templates < FEW_TEMPLATES.get(model, templates.max() + 1), (len(wide), 1))
    score = wide.to_numpy()
    if (rows["dataset"] == "confaide").all():
        score = score / 50
    else:
        if (score == INVALID_SCORE).any():
            asked &= ~np.isnan(score)
        score = np.where(score == INVALID_SCORE, np.nan, score)
    levels = papers_scale("acceptability").levels  # those of agreement too
    if not np.isin(score[~np.isnan(score)], levels).all():
        raise DataError(f"published frame: model {model} has scores off the scale {levels}")
    order = np.argsort(flow.to_numpy(), kind="stable")
    row, column = np.nonzero(asked[order])
    level = score[order][row, column]
    invalid = np.isnan(level)
    n = len(level)
    return pd.DataFrame(
        {
            "flow": flow.to_numpy()[order][row],
            "variant": category(column, variants),
            "order": category(np.full(n, -1), []),
            "level": pd.arrays.IntegerArray(np.where(invalid, 0, level).astype(np.int8), invalid),
            "status": category(invalid.astype(np.int8), ["ok", "invalid"]),
            "rule": category(np.zeros(n, dtype=np.int8), ["published"]),
            "p_options": None,
        }
    )


def _model_names(frame: pd.DataFrame) -> "pd.Series[str]":
    """Return the model of each row; the paraphraser run's names begin with the paraphraser and a hyphen."""
    if "paraphrasing" not in frame:
        return frame["model"].astype(str)
    by, paraphrasers = pd.factorize(frame["paraphrasing"])
    which, given = pd.factorize(frame["model"])
    # "gpt-4o-mini-8B" of the paraphraser gpt carries no prefix, although it begins like one.
    names = [[m if m == "gpt-4o-mini-8B" else m.removeprefix(f"{p}-") for m in given] for p in paraphrasers]
    return pd.Series(np.array(names, dtype=object)[by, which], index=frame.index, dtype="str")


def _what_to_choose(rows: pd.DataFrame) -> str:
    """Say which columns tell two rows of one vignette apart, and how to choose one value of each."""
    named = [
        str(c)
        for c in rows
        if rows[c].nunique() < FEWEST_VALUES and all(isinstance(value, str) for value in rows[c].unique())
    ]
    apart = [c for c in named if rows[["Scenario", c]].drop_duplicates()["Scenario"].duplicated().any()]
    values = (
        "; ".join(f"{c}: {', '.join(sorted(map(str, rows[c].unique())))}" for c in apart)
        or "no column differs"
    )
    return f"choose one value of each under 'where' of the frame in resources/published ({values})"


def flows_of(text: "pd.Series[str]", vignettes: pd.DataFrame) -> "pd.Series[int]":
    """Return the flow of each vignette's text; raise ``DataError`` for a text that is none."""
    known = vignettes.set_index("vignette")["flow"]
    if known.index.has_duplicates:
        raise DataError("vignettes: a text appears twice, so rows cannot be joined to flows by it")
    flow = text.map(known)
    if flow.isna().any():
        raise DataError(f"published data: '{text[flow.isna()].iloc[0]}' is not a vignette of this dataset")
    return flow.astype(np.int32)


def category(codes: npt.NDArray[np.integer[Any]], names: list[str]) -> "pd.Categorical[int]":
    """Return a column of ``names`` by their numbers, missing for -1."""
    return pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(pd.Index(names, dtype=str)))


def order_of(ordering: str) -> str:
    """Return our order string for the authors' ``{i}`` or ``ordering_{i}``: the option index at each shown position.

    The i-th (from 1) permutation of the labels, in the order of `itertools.permutations`; 0, which they write where
    orders are not drawn, and 1 are "01234", lowest first. Raises `DataError` for any other name.
    """
    match, orders = re.fullmatch(r"(?:ordering_)?(\d{1,3})", ordering), orders_of(5).names
    if not match or int(match[1]) > len(orders):
        raise DataError(
            f"likert_order_id '{ordering}': expected '0' to '{len(orders)}', or 'ordering_1', ..."
        )
    return orders[max(int(match[1]) - 1, 0)]


def read_raw_csv(path: str | Path, vignettes: pd.DataFrame) -> pd.DataFrame:
    """Return the responses table (`tables.RESPONSES`) in one of the authors' raw CSV files.

    The variant is ``t_o``: the numbers in ``prompt_id`` ("p#3_0"), or its only number and how often the flow and
    template came before in the file. Texts are kept as they are; an empty cell is an empty text. ``finish_reason`` was
    not recorded and reads ``unknown``.

    Raises `DataError` if the file or a column is missing, or a row names an unknown vignette, template
    or order.
    """
    try:
        raw = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable CSV file ({error})") from error
    missing = [c for c in RAW_COLUMNS if c not in raw]
    if missing:
        raise DataError(
            f"{path}: the columns {missing} are missing; the authors' raw files have {list(RAW_COLUMNS)}"
        )
    flow = flows_of(raw["Scenario"], vignettes).to_numpy()
    numbers = raw["prompt_id"].str.extract(r"^(?:p#)?(\d+)(?:_(\d+))?$")
    template = numbers[0]
    if template.isna().any():
        wrong = raw.loc[template.isna(), "prompt_id"].iloc[0]
        raise DataError(f"{path}: prompt_id '{wrong}' is not a template number")
    # ASSUME: rows of one flow and template are in the order in which the random orders were drawn.
    number = pd.Series(flow).groupby([flow, template.to_numpy()]).cumcount().astype(str)
    orders = {name: order_of(name) for name in raw["likert_order_id"].unique()}
    return pd.DataFrame(
        {
            "flow": flow,
            "variant": pd.Categorical(template + "_" + numbers[1].fillna(number)),
            "order": pd.Categorical(raw["likert_order_id"].map(orders)),
            "text": pd.Categorical(raw["Response"]),
            "finish_reason": category(np.zeros(len(raw), dtype=np.int8), ["unknown"]),
            "n_prompt_tokens": pd.array([pd.NA] * len(raw), dtype="Int32"),
            "n_output_tokens": pd.array([pd.NA] * len(raw), dtype="Int32"),
            "p_options": None,
        }
    )
