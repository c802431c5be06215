"""Every number of the paper's printed tables beside what stands in ours, read from the CSV files."""

from pathlib import Path

import pandas as pd

PUBLISHED = Path(__file__).parents[1] / "resources/published"
MODELS = {"table4-gpt": "gpt-4o-mini", "table4-llama": "llama-3.1-8b-instruct"}
COLUMNS = {"estimate": "Coef.", "std_err": "Std. err.", "statistic": "z", "log10_p": "p"}


def numbers_of(table: int) -> pd.DataFrame:
    """Return the numbers that are counted, and the stars, with the conditions in ``where`` as a dictionary."""
    frame = pd.read_csv(PUBLISHED / f"pets2026_table{table}.csv", dtype=str, keep_default_na=False)
    frame = frame[(frame["counted"] == "yes") | (frame["shown"] == "stars")]
    where = [dict(part.split("=", 1) for part in text.split("; ")) for text in frame["where"]]
    return frame.assign(where=where)


def differences(table: int, csv: str | Path) -> list[str]:
    """Return the printed numbers that the CSV file of our table does not have, stars aside."""
    ours = pd.read_csv(csv, dtype=str, keep_default_na=False)
    found = []
    for row in numbers_of(table).to_dict("records"):
        if row["shown"] == "stars":
            continue
        cell = _cell(table, ours, row)
        # A p-value below the range of floats is printed as 0, which it is for `float` too.
        if float(cell) != float(row["printed"]):
            found.append(f"{row['cell']}: printed {row['printed']}, ours {cell}")
    return found


def other_stars(csv: str | Path) -> list[str]:
    """Return the cells of Table 4 whose stars are not those of the paper."""
    ours = pd.read_csv(csv, dtype=str, keep_default_na=False)
    rows = numbers_of(4)
    found = []
    for row in rows[rows["shown"] == "stars"].to_dict("records"):
        text = _row(ours, row["where"]["level"])[f"{MODELS[row['analysis']]} p"]
        stars = text[len(text.rstrip("*")) :] or "none"
        if stars != row["printed"]:
            found.append(row["cell"])
    return found


def _row(ours: pd.DataFrame, level: str) -> dict[str, str]:
    return dict(ours[ours["Parameters"].str.lower() == level.lower()].iloc[0])


def _cell(table: int, ours: pd.DataFrame, row: dict[str, str]) -> str:
    where = row["where"]
    if table == 4:
        name = f"{MODELS[row['analysis']]} {COLUMNS[row['column']]}"
        return _row(ours, where["level"])[name].rstrip("*")
    line = ours[ours["Models"] == where["model"]]
    if table == 3:
        named = {"plurality": "plurality"} | {t: f"≥ {float(t):.0%}" for t in ("0.25", "0.5", "0.67")}
        return str(line.iloc[0][f"{named[where['from']]} → {named[where['to']]}"]).rstrip("%")
    line = line[line["T_val"] == where["t_val"]]
    below = row["column"].startswith("below_t_val")
    text = str(line.iloc[0]["≥ T_val" if below else f"T_maj ≥ {float(where['t_maj']):.0%}"])
    counts, share = text.split(" ")
    if row["shown"] == "percent":
        return share.strip("()%")
    return counts.split("/")[row["column"] == "of"]
