"""The results of a study as data frames, for notebooks: ``cinorms.open_results("results/demo")``."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from cinorms.core import tables
from cinorms.core.checksums import read_tidy
from cinorms.core.csv_files import read_csv
from cinorms.core.errors import DataError, damage_named, listing
from cinorms.core.root import Root
from cinorms.entries.files import inputs_of, make
from cinorms.entries.place import EntryLocation
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.store import Store
from cinorms.study.entries import entry_of, read_options
from cinorms.study.load import load_study, read_layers
from cinorms.study.metadata import StudyMetadata

#: Columns of the vignettes that are not factors.
_NO_FACTORS = ("flow", "vignette", "expected")
#: The parameters of contextual integrity, in the order of the PETS paper's tensor.
_AXES = ("sender", "subject", "information_type", "recipient", "transmission_principle")


def open_results(folder: str | Path) -> "Results":
    """Return the results in ``folder``, e.g. ``results/demo``. Each table is read when first used.

    Raises ``DataError`` where there are no results, or another version wrote them.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder; run the study first (make run CONFIG=...)")
    if not (folder / "study.json").is_file():
        raise DataError(
            f"{folder}: has no study.json, so the study has not finished with this version; run it again"
        )
    return Results(folder, StudyMetadata.read(folder))


class Frames(Mapping[str, pd.DataFrame]):
    """Tables by name, each read when it is first used."""

    def __init__(self, what: str, names: list[str], read: Callable[[str], pd.DataFrame]) -> None:
        self._what, self._names, self._read = what, names, read
        self._found: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._names:
            raise DataError(f"there is no {self._what} {name!r}; {listing(name, self._names)}")
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name].copy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _ipython_key_completions_(self) -> list[str]:
        """Return what a notebook offers between the brackets."""
        return self._names

    def __repr__(self) -> str:
        return f"{self._what}s: {', '.join(self._names)}"


class Results:
    """The results of one study, which are in ``folder``.

    ``study`` is what the study is: arms, models, datasets, thresholds, entries, settings. ``tables`` has the table of
    each analysis, and ``figures`` the values that each figure shows, by its name in the study.
    """

    def __init__(self, folder: Path, study: StudyMetadata) -> None:
        self.folder, self.study = folder, study
        self.tables = Frames(
            "table", list(study.analyses), lambda name: read_tidy(self._file(f"tables/{name}.parquet"))
        )
        self.figures = Frames(
            "figure", list(study.figures), lambda name: read_csv(self._file(f"figures/{name}.csv"))
        )

    def __repr__(self) -> str:
        models, arms = ", ".join(self.study.models), ", ".join(self.study.arms)
        title = f"Results of study {self.study.name} ({self.folder})"
        return "\n".join([title, f"arms: {arms}", f"models: {models}", repr(self.tables), repr(self.figures)])

    @cached_property
    def norms(self) -> pd.DataFrame:
        """One row per arm, model and flow: factors in words, the norm or why there is none, share, mean, interval."""
        return read_tidy(self._file("norms.parquet"))

    @cached_property
    def dictionary(self) -> pd.DataFrame:
        """Every table of the study and each of its columns, with descriptions."""
        return read_tidy(self._file("dictionary.parquet"))

    def describe(self, name: str) -> pd.DataFrame:
        """Return the description of each column of a file: ``norms``, ``tables/regression``, ``figures/norms``, ...

        ``attrs["holds"]`` of the frame describes what a row of the file is.
        """
        files = list(dict.fromkeys(self.dictionary["file"]))
        file = next((file for file in files if file in (name, f"{name}.csv", f"{name}.parquet")), None)
        if file is None:
            raise DataError(f"there is no file {name!r}; {listing(name, files)}")
        rows = self.dictionary[self.dictionary["file"] == file]
        described: pd.DataFrame = rows.set_index("column")[["description"]]
        described.attrs["holds"] = rows["holds"].iloc[0]
        return described

    def answers(
        self, arm: str | None = None, model: str | None = None, *, text: bool = False
    ) -> pd.DataFrame:
        """Return one row per flow and variant: its factors in words, and the answer. Default: all arms and models.

        Columns: arm, model, flow, the factors, variant, template_no, order_no, order, level, answer (the level in
        words), status, rule. With ``text`` also prompt (its messages, an empty line between them) and text, the reply
        word for word, read from the responses now; both are missing where the responses are not here, text also where
        there was no reply.
        """
        pairs = [
            (name, who)
            for name in self._named("arm", arm, self.study.arms)
            for who in self._named("model", model, self.study.models)
            if who in self.study.arms[name].models
        ]
        if not pairs:
            raise DataError(f"model {model!r} was not asked in arm {arm!r}")
        parts = [self._answers(*pair) for pair in pairs]
        if text:
            parts = [self._with_texts(part, *pair) for part, pair in zip(parts, pairs, strict=True)]
        return pd.concat(parts, ignore_index=True)

    def tensor(self, model: str, arm: str | None = None, of: str = "level") -> "pd.Series[Any]":
        """Return the privacy bias of a model in an arm: its norm for every combination of the factors' levels.

        The factors are the levels of the index, those of contextual integrity first and in the PETS paper's order:
        sender, subject, information type, recipient, transmission principle. So a slice is taken by name,
        ``tensor.xs("its manufacturer", level="recipient")``, or by position, ``tensor.loc["a door lock", :, :, "its
        manufacturer"]``, and the difference of two slices or of two models' tensors flow by flow. A flow without a norm
        is missing; ``of="status"`` says why. ``of`` may be any other column of ``norms``, such as ``mean``. Default:
        the only arm.
        """
        arms = self._named("arm", arm, self.study.arms)
        if len(arms) > 1:
            raise DataError(f"this study has several arms; name one: {listing('', arms)}")
        self._named("model", model, self.study.models)
        if model not in self.study.arms[arms[0]].models:
            raise DataError(f"model {model!r} was not asked in arm {arms[0]!r}")
        rows = self.norms[(self.norms["arm"] == arms[0]) & (self.norms["model"] == model)]
        if of not in rows:
            raise DataError(f"norms have no column {of!r}; {listing(of, rows)}")
        flows = self.flows(self.study.arms[arms[0]].dataset).set_index("flow", drop=False).loc[rows["flow"]]
        names = [name for name in flows if name not in _NO_FACTORS]
        factors = [*(name for name in _AXES if name in names), *(name for name in names if name not in _AXES)]
        index = pd.MultiIndex.from_frame(flows[factors or ["flow"]])
        # pandas takes slices by position of a sorted index only.
        return pd.Series(rows[of].to_numpy(), index=index, dtype=rows[of].dtype, name=of).sort_index()

    def traces(self, arm: str, model: str, flows: Sequence[int] | None = None) -> pd.DataFrame:
        """Return the texts that a model wrote before its answers, to all ``flows`` of an arm or to those listed.

        Columns: arm, model, flow, variant, n_trace_tokens, trace_status, trace (missing where none was written). Only
        the store beside the studies has these texts: read them where the model was asked.
        """
        path = self._responses(arm, model)
        if path is None or not _has_traces(path):
            raise DataError(
                f"there are no responses with traces of model {model!r} in arm {arm!r} of {self.folder}"
            )
        columns = ["flow", "variant", "n_trace_tokens", "trace_status"]
        questions = self._questions(arm, json.loads(tables.metadata(path)["request"]))
        frame = tables.read(path, tables.RESPONSES, columns)
        rows = np.arange(len(frame)) if flows is None else np.flatnonzero(frame["flow"].isin(flows))
        store = Store(self.folder.parent / ".replies", questions.request)
        if store.is_empty:
            raise DataError(f"{store.folder}: there is no such store; traces are where the model was asked")
        texts = pd.Series(pd.NA, index=range(len(rows)), dtype="str")
        for place, trace in store.traces(questions.keys[rows]):
            texts.iloc[place] = trace
        table = frame.iloc[rows].astype({"variant": "str", "trace_status": "str"}).reset_index(drop=True)
        return table.assign(arm=arm, model=model, trace=texts)[["arm", "model", *columns, "trace"]]

    def replies(self, arm: str, model: str, flows: Sequence[int] | None = None) -> pd.DataFrame:
        """Return what a model was sent about ``flows`` of an arm (default: all), and what it replied, word for word.

        Columns: arm, model, flow, variant, messages (role and content of each), text (missing where there is no reply),
        finish_reason. No rows where the answers were published or imported without their texts. Planted respondents
        have prompts and replies too. Raises ``DataError`` where none of ``flows`` was asked: an arm that selects flows
        does not ask about flow 0.
        """
        names = ["arm", "model", "flow", "variant", "messages", "text", "finish_reason"]
        path = self._responses(arm, model)
        request = json.loads(tables.metadata(path).get("request", "null")) if path else None
        if path is None or request is None:
            return pd.DataFrame(columns=names)
        questions = self._questions(arm, request)
        frame = tables.read(path, tables.RESPONSES, ["flow", "variant", "text", "finish_reason"])
        number = frame["flow"]
        if flows is not None and len(frame) and not set(number.unique()) & set(flows):
            raise DataError(
                f"model {model!r} was asked about none of these flows in arm {arm!r}; the flows that it was asked "
                f"about have the numbers {number.min()} to {number.max()}"
            )
        rows = np.arange(len(frame)) if flows is None else np.flatnonzero(number.isin(flows))
        texts = frame.iloc[rows].astype({"variant": "str", "text": "str", "finish_reason": "str"})
        messages = pd.Series([questions.chat(int(row)) for row in rows], index=texts.index, dtype="object")
        table = texts.assign(arm=arm, model=model, messages=messages)
        return table.reset_index(drop=True)[names]

    def plot(self, name: str, **options: Any) -> Any:
        """Return a figure as a plotnine object to go on with: ``results.plot("agreement", font="STIXGeneral") + ...``.

        ``name`` is a figure of the study, of whose options those given here override some, or a kind of figures. Kind
        and options are checked like those of a study. Default: the only arm.
        """
        root = Root(Path(__file__).parents[3], results=self.folder.parent)
        settings = {str(self.folder / "study.json"): dict(self.study.settings)}
        study = load_study({**read_layers([], root), **settings}, root)
        only = {"arms": list(study.arms)} if len(study.arms) == 1 else {}
        stated = {"kind": name, **only, **study.settings.figures.get(name, {}), **options}
        entry = entry_of(
            study, "figures", name, read_options(EntryLocation(study, "figures", name, "plot"), stated)
        )
        drawn = make(entry, inputs_of(entry, str(self.folder)))
        return drawn.plot

    def flows(self, dataset: str) -> pd.DataFrame:
        """Return the flows of a dataset: factors in words, the vignette, and the expected value."""
        (name,) = self._named("dataset", dataset, self.study.datasets)
        frame = tables.read(self._file(f"vignettes/{name}.parquet"), tables.VIGNETTES)
        factors = [column for column in frame if column not in _NO_FACTORS]
        return frame.astype(dict.fromkeys(factors, "str"))[["flow", *factors, "vignette", "expected"]]

    def _responses(self, arm: str, model: str) -> Path | None:
        """Return the file of responses of a model in an arm; None where none was kept."""
        self._named("arm", arm, self.study.arms)
        self._named("model", model, self.study.models)
        path = self.folder / f"responses/{arm}/{model}.parquet"
        return path if path.is_file() else None

    def _questions(self, arm: str, request: Mapping[str, Any]) -> Questions:
        vignettes = self._file(f"vignettes/{self.study.arms[arm].dataset}.parquet")
        flows = tables.read(vignettes, tables.VIGNETTES)
        variants = tables.read(self._file(f"prompts/{arm}.parquet"), tables.PROMPTS)
        return Questions.of(Request.from_plain(request), flows, variants)

    def _answers(self, arm: str, model: str) -> pd.DataFrame:
        settings = self.study.arms[arm]
        frame = tables.read(self._file(f"answers/{arm}/{model}.parquet"), tables.ANSWERS)
        variants = tables.read(self._file(f"prompts/{arm}.parquet"), tables.PROMPTS)
        texts = frame.astype(dict.fromkeys(("variant", "order", "status", "rule"), "str"))
        numbered = texts.merge(variants[["variant", "template_no", "order_no"]], on="variant", validate="m:1")
        flows = self.flows(settings.dataset).drop(columns=["vignette", "expected"])
        whole = numbered.merge(flows, on="flow", validate="m:1").assign(arm=arm, model=model)
        words = dict(zip(settings.scale.levels, settings.scale.options, strict=True))
        whole["answer"] = whole["level"].map(words, na_action="ignore").astype("str")
        columns = ["variant", "template_no", "order_no", "order", "level", "answer", "status", "rule"]
        return whole[["arm", "model", *flows.columns, *columns]]

    def _with_texts(self, answers: pd.DataFrame, arm: str, model: str) -> pd.DataFrame:
        """Return answers with the prompt and the reply beside each."""
        replies = self.replies(arm, model)
        prompts = ["\n\n".join(message["content"] for message in chat) for chat in replies["messages"]]
        texts = replies[["flow", "variant", "text"]].assign(prompt=pd.array(prompts, dtype="str"))
        texts = texts.astype({"flow": answers["flow"].dtype, "variant": "str", "text": "str"})
        columns = ["flow", "variant", "prompt", "text"]
        return answers.merge(texts[columns], how="left", on=["flow", "variant"], validate="1:1")

    def _file(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise DataError(f"{path}: there is no such file; let the study run to its end")
        return path

    @staticmethod
    def _named(what: str, name: str | None, names: Mapping[str, Any]) -> list[str]:
        if name is None:
            return list(names)
        if name not in names:
            raise DataError(f"there is no {what} {name!r} in this study; {listing(name, names)}")
        return [name]


def _has_traces(path: Path) -> bool:
    with damage_named(path, tables.RESPONSES.remedy):
        return "trace_status" in pq.read_schema(path).names
