"""Load every table of a published folder with mlcroissant: ``python check_croissant.py FOLDER``; prints their rows."""

import json
import os
import sys

import mlcroissant


def main(folder: str) -> None:
    os.chdir(folder)
    dataset = mlcroissant.Dataset("croissant.json")
    rows = {}
    for records in dataset.metadata.record_sets:
        found = list(dataset.records(records.id))
        assert all(set(row) == {field.id for field in records.fields} for row in found[:5])
        rows[records.id] = len(found)
    print(json.dumps({"errors": sorted(dataset.metadata.issues.errors), "rows": rows}))


if __name__ == "__main__":
    main(*sys.argv[1:])
