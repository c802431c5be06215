"""Read what the authors of the papers published: scored responses (pickled frames) and raw CSV files.

A pickle is a program. A release states the SHA-256 of each of these files, and the reader gives a pickle the few names
in `_ADMITTED` and no other: pandas' and NumPy's own constructors of plain data.
"""

import lzma
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.core.scales import papers_scale
from cinorms.prompts.orders import orders_of

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

#: The modules of the names that a pickled frame may ask for; pandas 3 calls its classes by short names.
_ADMITTED = {
    "pandas": ("DataFrame", "Categorical", "CategoricalDtype", "Index", "RangeIndex"),
    "pandas.core.frame": ("DataFrame",),
    "pandas.core.internals.managers": ("BlockManager",),
    "pandas._libs.internals": ("_unpickle_block",),
    "pandas._libs.arrays": ("__pyx_unpickle_NDArrayBacked",),
    "pandas._libs.missing": ("NA",),
    "pandas.core.arrays.categorical": ("Categorical",),
    "pandas.core.dtypes.dtypes": ("CategoricalDtype",),
    "pandas.core.indexes.base": ("_new_Index", "Index"),
    "pandas.core.indexes.range": ("RangeIndex",),
    "numpy.core.multiarray": ("_reconstruct",),
    "numpy._core.multiarray": ("_reconstruct",),
    "numpy": ("ndarray", "dtype"),
    "builtins": ("slice",),
}


class _Unpickler(pickle.Unpickler):
    """Admits the names above; refuses all others before anything is built."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what an admitted name stands for; raise `DataError` for any other."""
        if name not in _ADMITTED.get(module, ()):
            raise DataError(
                f"pickle refused: it asks for '{module}.{name}', but only plain pandas and numpy data are "
                "allowed; fetch the file again and check its SHA-256"
            )
        return super().find_class(module, name)


def read_frame(path: str | Path) -> pd.DataFrame:
    """Return the wide frame in a pickle packed as LZMA-alone or xz, with a fresh row index.

    Raises `DataError` if the file is missing, damaged, asks for any class or function that is not plain pandas or
    NumPy data, or is not a frame.
    """
    try:
        with lzma.open(path) as unpacked:
            frame = _Unpickler(unpacked).load()
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except Exception as error:  # a damaged pickle can make the reader fail in any way
        raise DataError(
            f"{path}: not a pickled frame ({type(error).__name__}: {error}); fetch it again"
        ) from None
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"{path}: holds a {type(frame).__name__}, expected a frame; fetch it again")
    return frame.reset_index(drop=True)


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
    if not variants:
        raise DataError("published frame: no column is named as answers are (p#0_0)")
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
    return scored_answers(flow.to_numpy()[order][row], category(column, variants), score[order][row, column])


def scored_answers(
    flow: npt.NDArray[np.integer[Any]], variant: "pd.Categorical[int]", level: npt.NDArray[np.float64]
) -> pd.DataFrame:
    """Return an answers table (`tables.ANSWERS`) of published levels; a missing one is an ``invalid`` answer."""
    n, invalid = len(flow), np.isnan(level)
    return pd.DataFrame(
        {
            "flow": flow,
            "variant": variant,
            "order": category(np.full(n, -1), []),
            "level": pd.arrays.IntegerArray(np.where(invalid, 0, level).astype(np.int8), invalid),
            "status": category(invalid.astype(np.int8), ["ok", "invalid"]),
            "rule": category(np.zeros(n, dtype=np.int8), ["published"]),
        }
    )


def _model_names(frame: pd.DataFrame) -> "pd.Series[str]":
    """Return the model of each row; the paraphraser run's names begin with the paraphraser and a hyphen."""
    if "paraphrasing" not in frame:
        return frame["model"].astype(str)
    by, paraphrasers = pd.factorize(frame["paraphrasing"])
    which, models = pd.factorize(frame["model"])
    # "gpt-4o-mini-8B" of the paraphraser gpt carries no prefix, although it begins like one.
    names = [[m if m == "gpt-4o-mini-8B" else m.removeprefix(f"{p}-") for m in models] for p in paraphrasers]
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
    flow_of = vignettes.set_index("vignette")["flow"]
    if flow_of.index.has_duplicates:
        raise DataError("vignettes: a text appears twice, so rows cannot be joined to flows by it")
    flow = text.map(flow_of)
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
