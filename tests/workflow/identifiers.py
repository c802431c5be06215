"""What names a person in the original files of two surveys, looked for in every byte of a study's files.

Run it on finished studies: ``CINORMS_MIRROR=FOLDER python -m tests.workflow.identifiers results logs .snakemake``.
It prints how many files it read and which hold an identifier, and never prints one.
"""

import gzip
import os
import re
import sys
import zipfile
from base64 import b64decode
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

#: Columns that name a worker, or an answer sheet that only the worker and the requester know.
NAMING = ("WorkerId", "AssignmentId", "HITId")
#: What workers wrote in their own words, and the fewest characters that cannot be there by chance.
COMMENT, LONG = "Answer.commentbox", 12


def contents(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, what is packed inside it, and the texts of a table's columns."""
    data = path.read_bytes()
    yield data
    if path.suffix == ".gz":
        yield gzip.decompress(data)
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
        yield frame.to_csv().encode()
        yield repr([list(frame[c].cat.categories) for c in frame.select_dtypes("category")]).encode()
    if path.suffix == ".html":
        for packed in re.findall(rb"H4sI[A-Za-z0-9+/=]{20,}", data):
            yield gzip.decompress(b64decode(packed))


def originals(folder: Path) -> set[bytes]:
    """Return every identifier and comment in the original files of a mirror folder."""
    found: set[str] = set()
    for file in sorted((folder / "confaide").glob("results_tier_*.csv")):
        frame = pd.read_csv(file, dtype=str)
        for column in NAMING:
            found |= set(frame[column].dropna())
        found |= {text.strip() for text in frame[COMMENT].dropna() if len(text.strip()) >= LONG}
    if (archive := folder / "hcomp2016/surveys.zip").is_file():
        with zipfile.ZipFile(archive) as files:
            for name in (name for name in files.namelist() if re.fullmatch(r"survey_\d+\.csv", name)):
                found |= set(pd.read_csv(files.open(name), dtype=str)["V1"][1:].dropna())
    return {text.encode() for text in found}


def files_naming(files: Iterable[Path], names: Iterable[bytes]) -> list[Path]:
    """Return the files in which one of the names is."""
    # One pattern: thousands of names in hundreds of files are too many single searches.
    any_name = re.compile(b"|".join(re.escape(name) for name in sorted(names)))
    return [path for path in files if any(any_name.search(data) for data in contents(path))]


def main(folders: Iterable[str]) -> int:
    """Search the folders, and print what was found."""
    names = originals(Path(os.environ["CINORMS_MIRROR"]))
    files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    found = files_naming(files, names)
    print(
        f"{len(names):,} identifiers and comments looked for in {len(files):,} files: found in {len(found)}"
    )
    for path in found:
        print(path)
    return 1 if found or not names or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
