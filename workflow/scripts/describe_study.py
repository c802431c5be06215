"""Write what the study is, for programs."""

import json
from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.core.version import version

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    metadata = {"cinorms": version(), **snakemake.params.study}
    text = json.dumps(metadata, indent=1, ensure_ascii=False, allow_nan=False)
    Path(snakemake.output.study).write_text(text + "\n", encoding="utf-8")
    print(f"{len(text.encode()):,} bytes")
