"""The sample of each model's replies that a person codes too: drawn, shown, read back, compared with the coder."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.answers.coding.prompt import NO_OPTION, as_code, level_of_code, options_to_choose
from cinorms.answers.read import NO_LEVEL
from cinorms.core.csv_files import check_header, csv_text, read_csv, write_csv
from cinorms.core.csv_tables import AGREEMENT, TO_CODE
from cinorms.core.errors import DataError, listing
from cinorms.core.scales import Scale
from cinorms.stats.proportions import wilson

SHEET = tuple(TO_CODE.about)
#: What a coder's code does: gives a level where no rule found one; contradicts the level of a loose rule; names why
#: there is no level. Each is judged on its own, as each is another mistake.
KINDS = {
    "level": "a level that no rule found",
    "contested": "another code than the level of a loose rule",
} | {code: f"no level: {code}" for code in NO_OPTION}
#: Why the codes of one kind count or not.
COUNTS, INCOMPLETE, TOO_LOW = "counts", "sample_incomplete", "agreement_too_low"


def kinds_of(coded: pd.DataFrame) -> npt.NDArray[np.object_]:
    """Return the kind of each of the coder's codes; empty where it gave none or the same level as the rules."""
    by_hand, read = coded["level"].fillna(NO_LEVEL), coded["read"].fillna(NO_LEVEL)
    none = coded["status"].isna() | (coded["read"].notna() & (by_hand == read))
    kinds = np.where(coded["level"].notna(), "level", coded["status"].to_numpy(dtype=object))
    found: npt.NDArray[np.object_] = np.where(none, "", np.where(coded["read"].notna(), "contested", kinds))
    return found


def strata_of(coded: pd.DataFrame) -> "pd.Series[str]":
    """Return the stratum of each item: what a loose rule found, and what the coder says: a level, none, the same."""
    kinds, by_rule = kinds_of(coded), coded["read"].notna()
    other = np.where(coded["level"].notna(), "other level", "no level")
    loose = np.where(kinds == "contested", other, "level")
    names = [
        f"{'rules' if rule else 'coder'}: {loose[number] if rule else other[number]}"
        for number, rule in enumerate(by_rule)
    ]
    return pd.Series(names, index=coded.index, dtype=object)


def draw_sample(coded: pd.DataFrame, size: int, seed: int) -> pd.DataFrame:
    """Return which items of each model a person should code too, in an order that tells nothing.

    ``coded`` has the columns model, item, read (the level of a loose rule), and the coder's level and status. Each
    stratum has the same share of a model's ``size``; where one has fewer items, the others have more. An item is drawn
    by a number that follows from its name: a study that grows keeps most of its sample, and models share items.
    """
    chance = coded["item"].map(lambda name: hashlib.blake2b(f"{seed}:{name}".encode()).hexdigest())
    ordered = coded.assign(chance=chance, stratum=strata_of(coded)).sort_values(["chance", "model"])
    drawn = [ordered[:0]]
    for _, of_model in ordered.groupby("model", sort=True):
        parts = sorted((part for _, part in of_model.groupby("stratum", sort=True)), key=len)
        left = size
        for number, part in enumerate(parts):
            drawn.append(part[: left // (len(parts) - number)])
            left -= len(drawn[-1])
    return pd.concat(drawn).sort_values(["chance", "model"]).drop(columns="chance").reset_index(drop=True)


def make_sheet(
    sample: pd.DataFrame, items: pd.DataFrame, by_hand: Mapping[str, str], scales: Mapping[str, Scale]
) -> pd.DataFrame:
    """Return a sample as a person sees it, each reply once, without the codes of rules and coder.

    ``by_hand`` are a person's codes by item; ``scales`` are the study's, by the names in ``items``.
    """
    shown = sample[["item"]].drop_duplicates().merge(items, on="item", validate="one_to_one").astype(object)
    return pd.DataFrame(
        {
            "item": shown["item"],
            "options": shown["scale"].map(lambda name: ", ".join(options_to_choose(scales[name]))),
            "flow": shown["scenario"],
            "reply": shown["reply"],
            "cut": shown["cut"],
            "code": [by_hand.get(item, "") for item in shown["item"]],
        }
    )


def write_sheet(sheet: pd.DataFrame, path: Path) -> None:
    """Write the sheet if it differs from the file; no code that a person wrote into the file is lost.

    The sheet is no output of a rule: Snakemake would remove a person's work before it rebuilds a file.
    """
    old = _read_sheet(path) if path.exists() else pd.DataFrame(columns=list(SHEET), dtype=object)
    written = old[old["code"].str.strip() != ""]
    kept = dict(zip(written["item"], written["code"], strict=True))
    codes = [code or kept.get(item, "") for item, code in zip(sheet["item"], sheet["code"], strict=True)]
    merged = sheet.assign(code=codes)
    merged = pd.concat([merged, written[~written["item"].isin(sheet["item"])]], ignore_index=True)
    if csv_text(merged) != (path.read_text(encoding="utf-8") if path.exists() else ""):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_csv(merged, path)


def _read_sheet(path: str | Path) -> pd.DataFrame:
    check_header(path)
    sheet = read_csv(path, as_text=True, remedy="save it as 'CSV UTF-8'")
    missing = [name for name in ("item", "code") if name not in sheet.columns]
    if missing:
        raise DataError(f"{path}, line 1: no column {' and '.join(missing)}; a sheet has {', '.join(SHEET)}")
    return sheet


def load_codes(path: str | Path, scales: Iterable[Scale]) -> dict[str, str]:
    """Return the codes that a person wrote into a sheet, by item; lines without a code are left out.

    A code is an option of one of the study's ``scales``, or says why the reply gives none.

    ``DataError`` names the file, the line, what is given and what is allowed.
    """
    sheet = _read_sheet(path)
    scales = list(scales)
    allowed = {*NO_OPTION, *(option for scale in scales for option in options_to_choose(scale))}
    codes: dict[str, str] = {}
    for line, (item, written) in enumerate(zip(sheet["item"], sheet["code"], strict=True), start=2):
        code = as_code(written)
        code = code.replace(" ", "_") if code.replace(" ", "_") in NO_OPTION else code
        if not code:
            continue
        if code not in NO_OPTION and all(level_of_code(code, scale) is None for scale in scales):
            raise DataError(f"{path}, row {line}: code is '{written}'; {listing(code, allowed)}")
        if codes.get(item, code) != code:
            raise DataError(f"{path}, row {line}: item {item} has two codes; keep one of them")
        codes[item] = code
    return codes


def as_levels(codes: Mapping[str, str], items: pd.DataFrame, scales: Mapping[str, Scale]) -> pd.DataFrame:
    """Return a person's codes as item, level, status; codes of other items than ``items`` are left out.

    Raises ``DataError`` for an option that is not one of the item's scale.
    """
    chosen = items[items["item"].isin(list(codes))]
    rows: list[tuple[str, int | None, str]] = []
    for item, name in zip(chosen["item"], chosen["scale"], strict=True):
        code, scale = codes[item], scales[name]
        level = level_of_code(code, scale)
        if code in NO_OPTION:
            rows.append((item, None, code))
        elif level is not None:
            rows.append((item, level, "ok"))
        else:
            allowed = [*options_to_choose(scale), *NO_OPTION]
            raise DataError(f"item {item}: code is '{code}'; {listing(code, allowed)}")
    frame = pd.DataFrame(rows, columns=["item", "level", "status"])
    return frame.astype({"item": object, "level": "Int8", "status": object})


def compare(
    coded: pd.DataFrame, sample: pd.DataFrame, by_hand: pd.DataFrame, needed: float, tried: int = 1
) -> pd.DataFrame:
    """Return one row per model and kind of code: how many the coder gave, and how many a person confirms.

    A level is confirmed by the same level, no level by the same reason. The interval is Wilson's, 95%; its unit is a
    distinct reply to a flow. It is wider where the best of ``tried`` coders is used (Bonferroni). The codes of a kind
    count (``status``) where all of its sample is coded by hand and the interval's lower end reaches ``needed``.
    """
    sizes = coded.assign(kind=kinds_of(coded)).groupby(["model", "kind"]).size().rename("n").reset_index()
    pairs = sample.merge(by_hand, on="item", how="left", suffixes=("", "_by_hand"))
    pairs["kind"] = kinds_of(sample)
    rows = []
    for model, kind, n_given in sizes[sizes["kind"] != ""].itertuples(index=False):
        part = pairs[(pairs["model"] == model) & (pairs["kind"] == kind)]
        done = part[part["status_by_hand"].notna()]
        same = (done["level"].fillna(NO_LEVEL) == done["level_by_hand"].fillna(NO_LEVEL)).to_numpy(dtype=bool)
        same &= (done["status"] == done["status_by_hand"]).to_numpy(dtype=bool)
        n, agreed = len(done), int(same.sum())
        low, high = wilson(agreed / n, n, 0.05 / tried) if n else (None, None)
        good = COUNTS if low is not None and low >= needed else TOO_LOW
        row = {"model": model, "kind": kind, "codes": n_given, "sample": len(part), "coded_by_hand": n}
        row |= {"agreed": agreed, "share": agreed / n if n else None, "low": low, "high": high}
        rows.append(row | {"needed": needed, "status": INCOMPLETE if n < len(part) else good})
    agreement = pd.DataFrame(rows, columns=list(AGREEMENT.about))
    return agreement.astype({"share": "float64", "low": "float64", "high": "float64"})
