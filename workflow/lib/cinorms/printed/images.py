"""What the authors' own images of a paper's figures show, read by pixel, next to the data of this study's figures."""

from collections.abc import Mapping

import pandas as pd

from cinorms.core.csv_tables import IMAGES
from cinorms.core.errors import DataError, damage_named, listing
from cinorms.core.labels import listed
from cinorms.printed.comparison import mismatches, summary
from cinorms.published.releases import Image, Release


def compare_images(release: Release, drawn: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row (`csv_tables.IMAGES`) for everything that could be read from an image.

    ``drawn`` has the data of this study's figures as text, by name. A place of the image that could not be read is left
    out; one that this study's figure does not have does not match.

    Raises ``DataError`` for a column that the figure's data do not have, for two rows that are one place, and for an
    image of which nothing is compared.
    """
    parts = [_compare(release, name, image, drawn[name]) for name, image in release.images.items()]
    none = pd.DataFrame(columns=list(IMAGES.about), dtype="str")
    return pd.concat([none, *parts], ignore_index=True).astype("str")


def _compare(release: Release, name: str, image: Image, data: pd.DataFrame) -> pd.DataFrame:
    path = release.path.parent / image.file
    with damage_named(path, "give what the image shows as a CSV file in UTF-8"):
        shown = pd.read_csv(path, dtype="str", keep_default_na=False, encoding="utf-8")
    for column in [*shown, *image.compared]:
        for where, columns in ((path, shown), (f"the data of figure {name}", data)):
            if column not in columns:
                raise DataError(f"{where}: column {column!r} is not there; {listing(column, columns)}")
    if not (shown[list(image.compared)] != "").any(axis=None):
        raise DataError(
            f"{path}: no cell of {listed(image.compared)} has a value, so nothing of figure {name} is compared; "
            "give at least one, or leave the image out of the release"
        )
    keys = [column for column in shown if column not in image.compared]
    for where, frame in ((path, shown), (f"the data of figure {name}", data)):
        if frame.duplicated(keys).any():
            twice = frame.loc[frame.duplicated(keys), keys].iloc[0].tolist()
            raise DataError(f"{where}: {twice} appears twice; name more columns in {path}")
    both = shown.merge(data[[*keys, *image.compared]], "left", on=keys, suffixes=(" in print", ""))
    places, parts = both[keys].agg("; ".join, axis=1), []
    for column in image.compared:
        printed, computed = both[f"{column} in print"], both[column].fillna("")
        if image.within is None:
            same = printed == computed
        else:
            apart = pd.to_numeric(printed) - pd.to_numeric(computed)
            same = apart.abs() <= image.within + 1e-9
        part = pd.DataFrame(
            {
                "paper": release.paper,
                "item": image.item,
                "counted": image.counted,
                "cell": places if len(image.compared) == 1 else places + ": " + column,
                "printed": printed,
                "computed": computed,
                "match": same.map({True: "yes", False: "no"}),
            }
        )
        parts.append(part[printed != ""])
    return pd.concat(parts)


def images_summary(compared: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return each image, how much of how much matches, and what is counted."""
    what = dict(zip(compared["item"], compared["counted"], strict=True))
    counts = summary(compared)[["item", "matched", "total"]].itertuples(index=False)
    return [(item, f"{matched:,} of {total:,}", what[item]) for item, matched, total in counts]


def images_text(compared: pd.DataFrame) -> str:
    """Return a line for each image: how much of what it shows this study's figure shows, too."""
    return "\n".join(f"  {item}: {count} {what}" for item, count, what in images_summary(compared))


def images_missed(compared: pd.DataFrame) -> str:
    """Return a line for each place where an image shows something else."""
    return "\n".join(
        f"  {row['item']}: {row['cell']}: printed {row['printed']}, computed {row['computed'] or 'nothing'}"
        for row in mismatches(compared).to_dict("records")
    )
