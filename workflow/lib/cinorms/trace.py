"""``make trace STUDY=demo FLOW=12 MODEL=NAME``: one flow's way, from its words to where it counts.

Everything is read from the results: what the model was sent, what it replied, how that was read, how it was counted,
and which rows of tables and figures rest on it.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import pandas as pd

from cinorms.core.errors import ConfigError, DataError, listing
from cinorms.core.labels import variant_words
from cinorms.core.logs import command
from cinorms.results import Results, open_results

#: Columns that name a factor, where the table has a column `level` beside them.
_FACTOR_COLUMNS = ("factor", "term", "by")


@command()
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the way of the flow that the arguments name."""
    options = argparse.ArgumentParser(prog="cinorms trace")
    options.add_argument("--results", default="", help="the study's name, or its folder of results")
    options.add_argument("--flow", default="", help="the flow's number, as in norms.csv")
    options.add_argument("--model", default="")
    options.add_argument("--arm", help="needed where the model was asked in several arms")
    given = options.parse_args(arguments)
    if not (given.results and given.model and given.flow.isdecimal()):
        raise ConfigError(
            "trace needs a study with results, the number of a flow (norms.csv has it) and a model: "
            "make trace STUDY=demo FLOW=12 MODEL=planted-gpt-4o-mini, "
            "or cinorms trace --results demo --flow 12 --model planted-gpt-4o-mini"
        )
    folder = Path(given.results)
    results = open_results(folder if folder.is_dir() else Path("results") / folder)
    print("\n".join(trace(results, given.model, int(given.flow), given.arm)))
    return 0


def trace(results: Results, model: str, flow: int, arm: str | None = None) -> Iterator[str]:
    """Yield the lines that tell the way of one flow, for one model in one arm."""
    arm = _arm(results, model, arm)
    settings = results.study.arms[arm]
    flows = results.flows(settings.dataset).set_index("flow")
    if flow not in flows.index:
        raise DataError(
            f"there is no flow {flow} in dataset {settings.dataset}; its flows have the numbers "
            f"{flows.index.min()} to {flows.index.max()}"
        )
    levels = flows.loc[flow].drop(["vignette", "expected"])
    yield f"Flow {flow} of dataset {settings.dataset}: {model} in arm {arm} of study {results.study.name}"
    yield f"\n1. What the flow is ({results.folder}/vignettes/{settings.dataset}.parquet)\n"
    yield from _pairs(levels.to_dict())
    yield from _pairs({"vignette": flows.loc[flow, "vignette"]})

    yield f"\n2. What was asked, replied and read ({results.folder}/responses, prompts and answers)"
    answers = results.answers(arm, model)
    own = answers[answers["flow"] == flow]
    if own.empty:
        asked = answers["flow"]
        between = f"{asked.nunique():,} flows were, from {asked.min()} to {asked.max()}"
        yield f"\n   This flow was not asked in this arm: {between}."
        return
    sent: dict[Any, Any] = {
        reply.variant: reply
        for reply in results.replies(arm, model, [flow]).itertuples()
        if reply.repeat == 1
    }
    numbered = variant_words(bool(settings.people)).numbered
    for answer in own.itertuples():
        yield f"\n   {numbered} {answer.template_no}, order {answer.order_no} ({answer.variant})"
        yield from _read(answer, sent.get(answer.variant))

    yield f"\n3. How it was counted ({results.folder}/norms.csv)\n"
    given = own["answer"][own["status"] == "ok"].value_counts()
    yield from _pairs({f"{answer}": count for answer, count in given.items()})
    reasons = own["status"].value_counts()
    yield from _pairs({f"no answer ({status})": n for status, n in reasons.items() if status != "ok"})
    norms = results.norms
    norm = norms[(norms["arm"] == arm) & (norms["model"] == model) & (norms["flow"] == flow)]
    for _, row in norm.iterrows():
        yield from _pairs(row.drop(["arm", "model", "dataset", "flow", *levels.index]).dropna().to_dict())

    yield "\n4. What rests on it: rows of this arm and model that are about this flow or one of its levels"
    yield from _resting(results, arm, model, flow, levels.to_dict())
    page = results.folder / "report/index.html"
    if page.is_file():
        yield f"\n   {page}#explorer, where this flow can be found by its levels"
    yield "\n   Other tables and figures sum up flows: this one with the others, where they select it and its answers"
    yield "   or norm are valid."


def _read(answer: Any, reply: Any) -> Iterator[str]:
    """Yield one prompt as it was sent, the reply (None where its text is not here), and what was read in it."""
    if reply:
        parts = [f"{message['role']}: {message['content']}" for message in reply.messages]
        parts.append("(no reply)" if pd.isna(reply.text) else f"reply: {reply.text}")
    else:
        parts = ["The text is not here: these answers were published or imported as levels."]
    status = answer.status
    read = f"{answer.answer} ({int(answer.level):+d})" if status == "ok" else f"no answer: {status}"
    by = f", by rule '{answer.rule}'" if pd.notna(answer.rule) else ""
    for part in [*parts, f"read as: {read}{by}"]:
        yield from indent(part, " " * 6).splitlines()


def _resting(results: Results, arm: str, model: str, flow: int, levels: Mapping[Any, Any]) -> Iterator[str]:
    """Yield the rows of tables and figures that are about a flow, below the name of their file."""
    for section, frames in (("tables", results.tables), ("figures", results.figures)):
        for name in frames:
            shown = rows_about(frames[name], arm, model, flow, levels)
            if len(shown):
                yield f"\n   {results.folder}/{section}/{name}.csv"
                yield from indent(shown.to_string(index=False), " " * 6).splitlines()


def rows_about(
    frame: pd.DataFrame, arm: str, model: str, flow: int, levels: Mapping[Any, Any]
) -> pd.DataFrame:
    """Return the rows of a table that are about a flow, or about all flows with one of its levels."""
    about = pd.Series(True, index=frame.index)
    for column, value in (("arm", arm), ("model", model)):
        sides = [column] if column in frame else [f"{column}_a", f"{column}_b"]
        if sides[0] in frame:
            about &= (frame[sides].astype("str") == value).any(axis="columns")
    factor = next((column for column in _FACTOR_COLUMNS if column in frame), None)
    if "flow" in frame:
        about &= pd.to_numeric(frame["flow"], errors="coerce") == flow
    elif factor and "level" in frame:
        about &= frame["level"].astype("str") == frame[factor].astype("str").map(levels)
    else:
        return frame.iloc[:0]
    return frame[about].dropna(axis="columns", how="all")


def _arm(results: Results, model: str, arm: str | None) -> str:
    """Return the arm that is meant."""
    if model not in results.study.models:
        raise DataError(f"there is no model {model!r} in this study; {listing(model, results.study.models)}")
    arms = [name for name, settings in results.study.arms.items() if model in settings.models]
    if arm is None and len(arms) > 1:
        raise DataError(f"{model} was asked in several arms; name one with ARM=...: {', '.join(arms)}")
    if arm is not None and arm not in arms:
        raise DataError(f"{model} was not asked in an arm {arm!r}; {listing(arm, arms)}")
    return arm or arms[0]


def _pairs(values: Mapping[Any, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f"   {name + ':':<24} {f'{value:.4g}' if isinstance(value, float) else value}"


if __name__ == "__main__":
    sys.exit(main())
