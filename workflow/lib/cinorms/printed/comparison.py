"""Replication: the numbers and sentences of a paper, what was computed here, and whether they are the same.

A number matches if it equals the printed one once it is rounded to the printed digits. Where two roundings
are possible, `printed.cells.rounded` decides: values are first written with four decimals, then rounded half up.
A number from an optimiser moves a little with the machine it runs on. Where that can change a printed digit,
the release states by how much (the reach of that one number), and a match that needs it is ``within reach``.
"""

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.csv_tables import COMPARISON, SENTENCES
from cinorms.core.errors import DataError, listing, nearest
from cinorms.core.filling import render_page
from cinorms.core.labels import percent
from cinorms.core.version import software, version
from cinorms.printed.cells import rounded, rounded_once, scientific
from cinorms.published.releases import Release, Sentence
from cinorms.stats import pvalues

#: How a number is shown in print: as it is, as a percentage, from its decimal logarithm, as stars.
SHOWN = ("", "percent", "power of ten", "stars")

#: Below it a double is 0, and is printed so.
SMALLEST_LOG10 = math.log10(5e-324)

#: What of a comparison counts as a match.
MATCHED = ("yes", "within reach")
#: What becomes of a claim in words (``counted: words``): a sign or a bound that the text states and no table prints.
IN_WORDS = {True: "holds", False: "does not hold"}

#: An item with this ending has no list of its own on the page: it is a column of the item that it is named after.
BESIDE = ", maximum likelihood"

_MINUS = " minus "


def compare(
    printed: pd.DataFrame,
    computed: Mapping[str, pd.DataFrame],
    reaches: Mapping[tuple[str, str], float] | None = None,
) -> pd.DataFrame:
    """Return every printed number with the computed one.

    Parameters
    ----------
    printed
        Text columns paper, item, cell, printed, analysis, where, column, shown, counted
        (`releases.read_numbers`). ``where`` names one row of the analysis ("model=a; t_val=10"), or two
        joined by " minus "; ``column`` names a column, or two joined by " / ".
    computed
        The tables of the analyses by name.
    reaches
        How far a computed number moves from machine to machine, by item and cell (``Release.reaches``). A
        number that is not named there must equal the printed one.

    Columns: paper, item, cell, printed, computed (with the printed digits; empty where there is no number),
    computed_full, match: ``yes``, ``within reach``, ``no``, ``not counted`` for cells that are listed only, ``holds``
    or ``does not hold`` for claims in words.

    Raises ``DataError`` for a place that no table has, for one that is not a single number, and for a reach
    of a cell that is not among the printed numbers.

    """
    reaches = reaches or {}
    places = set(zip(printed["item"], printed["cell"], strict=True))
    for item, cell in reaches:
        if (item, cell) not in places:
            cells = [other for its, other in places if its == item] or [other for _, other in places]
            raise DataError(
                f"reach: item {item!r} has no printed number {cell!r}{nearest(cell, cells)}; "
                "name an item and a cell of the release's files of numbers"
            )
    rows = []
    for row in printed.to_dict("records"):
        place = f"{row['item']}: {row['cell']}"
        value = _value(row, computed, place)
        shown, full = ("", "") if np.isnan(value) else _texts(value, row["printed"], row["shown"], place)
        reach = reaches.get((row["item"], row["cell"]), 0.0)
        if row["counted"] == "no":
            match = "not counted"
        elif row["counted"] == "words":
            match = IN_WORDS[bool(shown) and agrees(value, row["printed"], row["shown"])]
        elif not shown:
            match = "no"
        elif agrees(value, row["printed"], row["shown"]):
            match = "yes"
        # Only the two ends are tried: a reach is much smaller than a unit of the last printed digit.
        elif any(agrees(value + by, row["printed"], row["shown"]) for by in (-reach, reach)):
            match = "within reach"
        else:
            match = "no"
        names = {name: row[name] for name in ("paper", "item", "cell", "printed")}
        rows.append(names | {"computed": shown, "computed_full": full, "match": match})
    return pd.DataFrame(rows, columns=list(COMPARISON.about), dtype="str")


#: Where no number is counted, none has matched.
NOTHING = "nothing is compared"


def summary(comparison: pd.DataFrame) -> pd.DataFrame:
    """Return matched and total for each item that is counted, in the order of the comparison."""
    counted = comparison[comparison["match"].isin([*MATCHED, "no"])]
    groups = counted["match"].isin(MATCHED).groupby([counted["paper"], counted["item"]], sort=False)
    return groups.agg(matched="sum", total="size").reset_index()


def mismatches(comparison: pd.DataFrame) -> pd.DataFrame:
    """Return the counted cells that do not match."""
    return comparison[comparison["match"] == "no"].reset_index(drop=True)


def summary_text(comparison: pd.DataFrame) -> str:
    """Return the summary as lines for a terminal: each item, the total, then claims in words."""
    table = summary(comparison)
    matched, total = int(table["matched"].sum()), int(table["total"].sum())
    verdict = (
        "all matched" if matched == total > 0 else f"{total - matched} do not match" if total else NOTHING
    )
    width = max((len(item) for item in table["item"]), default=3)
    lines = [
        f"  {item:<{width}}  {m:>4} of {n}{'' if m == n else '  <-'}"
        for item, m, n in table[["item", "matched", "total"]].to_numpy()
    ]
    words = comparison[comparison["match"].isin(IN_WORDS.values())]
    claims = words["match"].eq(IN_WORDS[True]).groupby(words["item"], sort=False).agg(["sum", "size"])
    held = [f"  {item}: {n} of {of} hold" for item, n, of in claims.itertuples()]
    return "\n".join([*lines, f"  {'all':<{width}}  {matched:>4} of {total}: {verdict}", *held])


def mismatch_text(comparison: pd.DataFrame) -> str:
    """Return one line for each counted cell that does not match, or that no cell is counted."""
    if summary(comparison).empty:
        return f"  {NOTHING}"
    columns = ["item", "cell", "printed", "computed", "computed_full"]
    return "\n".join(
        f"  {item}: {cell}: printed {printed}, computed {f'{computed} ({full})' if computed else 'nothing'}"
        for item, cell, printed, computed, full in mismatches(comparison)[columns].to_numpy()
    )


def agrees(value: float, printed: str, shown: str = "") -> bool:
    """Tell whether ``value`` is the printed number, within the printed bound, or of the printed sign."""
    if printed in ("positive", "negative"):
        return value > 0 if printed == "positive" else value < 0
    if printed.startswith(("<", ">")):
        sign, bound = printed.split(" ", 1)
        limit = math.log10(float(bound)) if shown == "power of ten" else float(bound)
        return {"<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit}[sign]
    text = _as_printed(value, printed, shown)
    return text == printed if shown == "stars" else Decimal(text) == Decimal(printed)


def _as_printed(value: float, printed: str, shown: str) -> str:
    """Return ``value`` in the form of ``printed``, a number or stars."""
    if shown == "stars":
        return pvalues.stars(value) or "none"
    decimals = len(printed.partition("e")[0].partition(".")[2])
    if shown == "power of ten":
        return "0" if value < SMALLEST_LOG10 else _scientific(value, decimals)
    return rounded(100 * value if shown == "percent" else value, decimals)


def _scientific(log10: float, decimals: int) -> str:
    mantissa, exponent = scientific(log10, decimals)
    return f"{mantissa}e{exponent}"


def _texts(value: float, printed: str, shown: str, place: str) -> tuple[str, str]:
    """Return ``value`` with the printed digits, and with all digits that mean something."""
    if shown not in SHOWN:
        raise DataError(f"{place}: shown: {shown!r} is not known; {listing(shown, filter(None, SHOWN))}")
    if shown in ("power of ten", "stars"):
        full = _scientific(value, 6)
    else:
        full = format(100 * value if shown == "percent" else value, ".10g")
    if printed in ("positive", "negative"):
        return ("positive" if value > 0 else "negative" if value < 0 else "zero"), full
    if printed.startswith(("<", ">")):
        return (_scientific(value, 1) if shown == "power of ten" else format(value, ".2g")), full
    return _as_printed(value, printed, shown), full


def _value(row: Mapping[Any, Any], computed: Mapping[str, pd.DataFrame], place: str) -> float:
    name = row["analysis"]
    if name not in computed:
        raise DataError(f"{place}: analysis {name!r} is not known; {listing(name, computed)}")
    places = row["where"].split(_MINUS)
    first, *others = (_quotient(computed[name], where, row["column"], place) for where in places)
    return first - sum(others)


def _quotient(table: pd.DataFrame, where: str, column: str, place: str) -> float:
    """Return the value in the one row that ``where`` names; NaN if there is no such row."""
    chosen = pd.Series(True, index=table.index)
    for condition in where.split("; "):
        name, _, level = condition.partition("=")
        if name not in table:
            raise DataError(f"{place}: where: column {name!r} is not known; {listing(name, table)}")
        chosen &= table[name].astype(str) == level
    if chosen.sum() > 1:
        raise DataError(f"{place}: {int(chosen.sum())} rows have {where}; name one")
    parts = column.split(" / ")
    for name in parts:
        if name not in table:
            raise DataError(f"{place}: column {name!r} is not known; {listing(name, table)}")
    if not chosen.any():
        return float("nan")
    values = [table.loc[chosen, name].iloc[0] for name in parts]
    first, *others = (float("nan") if pd.isna(value) else float(value) for value in values)
    for other in others:
        first = first / other if other else float("nan")
    return first


# --- The page


def render(
    release: Release,
    comparison: pd.DataFrame,
    sentences: pd.DataFrame,
    images: Sequence[tuple[str, str, str]],
    models: Sequence[str],
    mark: str = "",
    figures: Mapping[str, str] | None = None,
) -> str:
    """Return the page as one HTML text that needs no network. Everything that comes from data is escaped.

    ``images`` has what `images.images_summary` returns, and ``figures`` the title of each figure of the study, by name.
    """
    counted = summary(comparison)
    items = [(str(name), group) for name, group in comparison.groupby("item", sort=False)]
    return render_page(
        "printed",
        "replication",
        release=release,
        mark=mark,
        models=[(name, release.models[name]) for name in models if name in release.models],
        summary=counted.to_dict("records"),
        matched=int(counted["matched"].sum()),
        total=int(counted["total"].sum()),
        missed=mismatches(comparison).to_dict("records"),
        twice=rounded_twice(comparison).to_dict("records"),
        reached=comparison[comparison["match"] == "within reach"].to_dict("records"),
        # How many printed numbers would differ with the values of an item that is a column of another.
        besides=[
            {
                "name": name.removesuffix(BESIDE),
                "differ": int((group["computed"] != group["printed"]).sum()),
                "total": len(group),
            }
            for name, group in items
            if name.endswith(BESIDE)
        ],
        items=[_item(name, group, comparison) for name, group in items if not name.endswith(BESIDE)],
        sentences=[
            (f"{whose}, section {section}" if whose else f"Section {section}", says, rows.to_dict("records"))
            for (whose, section, says), rows in sentences.groupby(
                ["paper", "section", "sentence"], sort=False
            )
        ],
        counts=sentences_text(sentences).strip().replace("\n  ", "; "),
        figures=figures or {},
        images=images,
        software=[*software(), ("machine", platform.machine())],
        version=version(),
    )


def rounded_twice(comparison: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that match only because four decimals are rounded first (`cells.rounded`)."""
    plain = comparison["printed"].str.fullmatch(r"-?\d+\.\d+") & comparison["match"].eq("yes")
    rows = comparison[plain]
    once = [
        rounded_once(float(full), len(printed.partition(".")[2]))
        for full, printed in zip(rows["computed_full"], rows["printed"], strict=True)
    ]
    differs = np.array(once, dtype=object) != rows["computed"].to_numpy(dtype=object)
    return pd.DataFrame(rows[differs])


def _item(name: str, group: pd.DataFrame, comparison: pd.DataFrame) -> dict[str, Any]:
    others = comparison[comparison["item"] == name + BESIDE]
    beside = dict(zip(others["cell"], others["computed_full"], strict=True))
    counted = group["match"].ne("not counted")
    in_words = bool(group["match"].isin(IN_WORDS.values()).any())
    return {
        "name": name,
        "counted": bool(counted.any()),
        "matched": int(group["match"].isin([*MATCHED, IN_WORDS[True]]).sum()),
        "verb": "hold" if in_words else "match",
        "total": int(counted.sum()),
        "beside": len(beside) > 0,
        "rows": [row | {"beside": beside.get(row["cell"], "")} for row in group.to_dict("records")],
    }


def compare_sentences(release: Release, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row for each flow and model of each sentence (`csv_tables.SENTENCES`); of two models where they differ.

    ``tables`` are the study's analyses by name; the one that the sentences name has a row per model and flow
    (kind ``flow_norms``).

    Raises ``DataError`` for a factor, a level or a model that it does not have.
    """
    rows: list[dict[str, Any]] = []
    if release.sentences:
        for sentence in release.sentences.rows:
            norms = tables[sentence.table or release.sentences.table]
            stated = {"paper": sentence.paper, "section": sentence.section, "sentence": sentence.says}
            cells = _shares if sentence.share else _sides if sentence.pair else _cells
            chosen = _chosen(norms, sentence)
            rows += [stated | cell | {"remark": sentence.but} for cell in cells(chosen, sentence)]
    return pd.DataFrame(rows, columns=list(SENTENCES.about), dtype="str")


def unexpected(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's own cells that do not hold, and those that hold where the release says that none does."""
    of_paper = cells[cells["paper"] == ""]
    return of_paper[(of_paper["holds"] == "no") != (of_paper["remark"] != "")]


def sentences_text(cells: pd.DataFrame) -> str:
    """Return how many cells hold, a line for each paper; nothing where no sentence is compared."""
    lines = []
    counted = cells[cells["holds"].isin(["yes", "no"])]
    for paper in sorted(set(counted["paper"].astype(str))):
        rows = counted[counted["paper"] == paper]
        tied = rows["tie"].eq("yes")
        hold, slips = rows["holds"].eq("yes"), rows["remark"].ne("")
        others = [
            (int((hold & tied).sum()), "on a tie"),
            (int((~hold & slips).sum()), "are slips of the paper"),
            (int((~hold & ~slips).sum()), "do not hold"),
        ]
        counts = [f"{n} {what}" for n, what in others if n]
        whose = f"{paper}'s sentences on these answers" if paper else "sentences about flows"
        lines.append(
            f"  {whose}: {', '.join([f'{int((hold & ~tied).sum())} of {len(rows)} cells hold', *counts])}"
        )
    return "\n".join(lines)


def _chosen(norms: pd.DataFrame, sentence: Sentence) -> pd.DataFrame:
    """Return the rows of the models and flows that ``sentence`` is about."""
    chosen = _has(norms, "model", sentence.pair or tuple(sentence.levels), sentence)
    for factor, levels in sentence.flows.items():
        chosen &= _has(norms, factor, levels, sentence)
    for factor, levels in sentence.others.items():
        chosen &= ~_has(norms, factor, levels, sentence)
    return norms[chosen]


def _has(norms: pd.DataFrame, column: str, values: Sequence[str], sentence: Sentence) -> "pd.Series[bool]":
    """Return which rows have one of ``values`` in ``column``; raise ``DataError`` for a value that none has."""
    place = f"sentence {sentence.says!r}"
    if column not in norms:
        raise DataError(f"{place}: {column!r} is not known; {listing(column, norms)}")
    present = list(map(str, norms[column].unique()))
    for value in values:
        if value not in present:
            raise DataError(f"{place}: {column}: {value!r} is not known; {listing(value, present)}")
    return norms[column].isin(values)


def _cells(chosen: pd.DataFrame, sentence: Sentence) -> Iterator[dict[str, str]]:
    for model, options in sentence.levels.items():
        for row in chosen[chosen["model"] == model].to_dict("records"):
            norm = _norm(row)
            yield {
                "model": model,
                "flow": _flow(row, sentence),
                "stated": " or ".join(options),
                "found": norm,
                "holds": _yes(norm in options),
                "tie": "yes" if row["tie"] else "",
            }


def _sides(chosen: pd.DataFrame, sentence: Sentence) -> Iterator[dict[str, str]]:
    a, b = sentence.pair or ("", "")
    for flow, rows in chosen.groupby("flow"):
        by_model = {row["model"]: row for row in rows.to_dict("records")}
        if len(by_model) < 2:
            raise DataError(f"sentence {sentence.says!r}: {a} and {b} do not both have a row for flow {flow}")
        levels = [by_model[model]["level"] for model in (a, b)]
        apart = not any(map(pd.isna, levels)) and (
            levels[0] * levels[1] < 0 if sentence.opposite else levels[0] != levels[1]
        )
        yield {
            "model": f"{a}, {b}",
            "flow": _flow(by_model[a], sentence),
            "stated": "opposite sides" if sentence.opposite else "different norms",
            "found": ", ".join(_norm(by_model[model]) for model in (a, b)),
            "holds": _yes(apart),
            "tie": "yes" if any(by_model[model]["tie"] for model in (a, b)) else "",
        }


def _shares(chosen: pd.DataFrame, sentence: Sentence) -> Iterator[dict[str, str]]:
    for model, options in sentence.levels.items():
        norms = chosen.loc[chosen["model"] == model, "norm"]
        yield {
            "model": model,
            "flow": f"{len(norms):,} flows",
            "stated": " or ".join(options),
            "found": percent(norms.isin(options).mean(), 1),
            "holds": "not counted",
            "tie": "",
        }


def _flow(row: Mapping[Any, Any], sentence: Sentence) -> str:
    return "; ".join(str(row[factor]) for factor in sentence.flows)


def _norm(row: Mapping[Any, Any]) -> str:
    """Return the norm in the words of the scale, or why there is none."""
    return str(row["reason"] if pd.isna(row["level"]) else row["norm"])


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
