"""Write pets2026_gpt_4o_mini_orders.csv.gz: the order of the options in each request of gpt-4o-mini's main run.

    python pets2026_orders.py FOLDER

FOLDER is the authors' repository at commit ec69cb8, or its data/iot.csv (a flow is a row of it) and the 63 files of
data/openAI/temperature_batches/T0/batches_1000.
"""

import gzip
import json
import sys
from pathlib import Path

import pandas as pd

OPTIONS = (
    "strongly unacceptable",
    "somewhat unacceptable",
    "neutral",
    "somewhat acceptable",
    "strongly acceptable",
)
#: How the instruction of each of the three templates begins.
TEMPLATES = ("Please indicate the extent", "Please rate how acceptable", "Indicate the level")
HERE = Path(__file__).parent


def read_requests(folder: Path) -> pd.DataFrame:
    """Return vignette, template and order of each request, in the order of the files."""
    rows = []
    # The files are numbered: 10 comes after 9.
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: (len(path.name), path.name)):
        for line in path.read_text(encoding="utf-8").splitlines():
            instruction, vignette = (message["content"] for message in json.loads(line)["body"]["messages"])
            template = next(n for n, start in enumerate(TEMPLATES) if instruction.startswith(start))
            shown = instruction[instruction.rindex("[") + 1 : instruction.rindex("]")].split(", ")
            rows.append((vignette, template, "".join(str(OPTIONS.index(option)) for option in shown)))
    return pd.DataFrame(rows, columns=["vignette", "template", "order"])


if __name__ == "__main__":
    data = Path(sys.argv[1]) / "data"
    requests = read_requests(data / "openAI/temperature_batches/T0/batches_1000")
    vignettes = pd.read_csv(data / "iot.csv")
    requests["flow"] = requests["vignette"].map(pd.Series(vignettes.index, vignettes["vignette"]))
    requests["occurrence"] = requests.groupby(["flow", "template"]).cumcount()
    table = requests.sort_values(["flow", "template", "occurrence"])[
        ["flow", "template", "occurrence", "order"]
    ]
    # Without a time in its header the file is the same whenever it is made.
    with gzip.GzipFile(HERE / "pets2026_gpt_4o_mini_orders.csv.gz", "wb", mtime=0) as file:
        file.write(table.to_csv(index=False).encode())
