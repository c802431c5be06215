"""The sample of the coder's work that a person codes too: drawn, shown, read back and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from cinorms.answers.read import NO_LEVEL
from cinorms.coding.prompt import NO_OPTION, as_code, level_of_code, options_to_choose
from cinorms.core.csv_files import check_header, csv_text, read_csv, write_csv
from cinorms.core.csv_tables import TO_CODE
from cinorms.core.errors import DataError, listing
from cinorms.core.scales import Scale
from cinorms.stats.proportions import wilson

SHEET = tuple(TO_CODE.about)
#: The two kinds of codes, each judged on its own: a wrong level and a missed one are different mistakes.
KINDS = ("level", "no level")
#: Why the codes of one kind count or not.
COUNTS, INCOMPLETE, TOO_LOW, NONE = "counts", "sample_incomplete", "agreement_too_low", "no_codes"


def draw_sample(coded: pd.DataFrame, size: int, seed: int) -> pd.DataFrame:
    """Return which of the coder's items a person should code too, in an order that tells nothing.

    ``coded`` has the columns item, level, status (missing where the coder's reply is no code). Half of the sample
    are items with a level, half are without, so that both kinds of mistake are seen; where one half has fewer
    items, the other has more. An item is drawn by a number that follows from its name: a study that grows keeps
    most of its sample.
    """
    usable = coded[coded["status"].notna()]
    chance = usable["item"].map(lambda name: hashlib.blake2b(f"{seed}:{name}".encode()).hexdigest())
    ordered = usable.assign(chance=chance).sort_values("chance")
    with_level = ordered[ordered["level"].notna()]
    without = ordered[ordered["level"].isna()]
    n_with = min(len(with_level), max(size // 2, size - len(without)))
    drawn = pd.concat([with_level[:n_with], without[: size - n_with]])
    return drawn.sort_values("chance")[list(coded.columns)].reset_index(drop=True)


def make_sheet(
    sample: pd.DataFrame, items: pd.DataFrame, by_hand: Mapping[str, str], scales: Mapping[str, Scale]
) -> pd.DataFrame:
    """Return a sample as a person sees it, without the coder's codes.

    ``by_hand`` are a person's codes by item; ``scales`` are the study's, by the names in ``items``.
    """
    shown = sample[["item"]].merge(items, on="item", validate="one_to_one").astype(object)
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
    old = read_csv(path, as_text=True) if path.exists() else pd.DataFrame(columns=list(SHEET), dtype=object)
    written = old[old["code"].str.strip() != ""]
    kept = dict(zip(written["item"], written["code"], strict=True))
    codes = [code or kept.get(item, "") for item, code in zip(sheet["item"], sheet["code"], strict=True)]
    merged = sheet.assign(code=codes)
    merged = pd.concat([merged, written[~written["item"].isin(sheet["item"])]], ignore_index=True)
    if csv_text(merged) != (path.read_text(encoding="utf-8") if path.exists() else ""):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_csv(merged, path)


def load_codes(path: str | Path, scales: Iterable[Scale]) -> dict[str, str]:
    """Return the codes that a person wrote into a sheet, by item; lines without a code are left out.

    A code is an option of one of the study's ``scales``, or says why the reply gives none.

    ``DataError`` names the file, the line, what is given and what is allowed.
    """
    check_header(path)
    try:
        sheet = read_csv(path, as_text=True)
    except (OSError, UnicodeDecodeError, ValueError) as problem:
        reason = " ".join(str(problem).split())
        raise DataError(f"{path}: not a CSV file in UTF-8 ({reason}); save it as 'CSV UTF-8'") from None
    missing = [name for name in ("item", "code") if name not in sheet.columns]
    if missing:
        raise DataError(f"{path}, line 1: no column {' and '.join(missing)}; a sheet has {', '.join(SHEET)}")
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
    found = items[items["item"].isin(list(codes))]
    rows: list[tuple[str, int | None, str]] = []
    for item, name in zip(found["item"], found["scale"], strict=True):
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


def compare(coded: pd.DataFrame, sample: pd.DataFrame, by_hand: pd.DataFrame, needed: float) -> pd.DataFrame:
    """Return one row per kind of code: how many the coder gave, and how many of the sample a person confirms.

    A level is confirmed where the person gives the same level, a code without a level where the person gives
    none either. The interval is Wilson's, 95%; its unit is a distinct reply to a flow. The codes of a kind count
    (``status``) where all of its sample is coded by hand and the interval's lower end reaches ``needed``.
    """
    pairs = sample.merge(by_hand, on="item", how="left", suffixes=("", "_by_hand"))
    rows = []
    for kind in KINDS:
        is_kind = pairs["level"].notna() if kind == "level" else pairs["level"].isna()
        given = coded["level"].notna() if kind == "level" else coded["level"].isna() & coded["status"].notna()
        part = pairs[is_kind]
        done = part[part["status_by_hand"].notna()]
        same = (done["level"].fillna(NO_LEVEL) == done["level_by_hand"].fillna(NO_LEVEL)).to_numpy(dtype=bool)
        n, agreed = len(done), int(same.sum())
        low, high = wilson(agreed / n, n) if n else (None, None)
        if not given.any():
            status = NONE
        elif n < len(part):
            status = INCOMPLETE
        else:
            status = COUNTS if low is not None and low >= needed else TOO_LOW
        rows.append(
            {
                "kind": kind,
                "codes": int(given.sum()),
                "sample": len(part),
                "coded_by_hand": n,
                "agreed": agreed,
                "share": agreed / n if n else None,
                "low": low,
                "high": high,
                "needed": needed,
                "status": status,
            }
        )
    return pd.DataFrame(rows).astype({"share": "float64", "low": "float64", "high": "float64"})
