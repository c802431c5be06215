"""Gather what every response of the study was made with."""

import json
from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.inference.provenance import gather

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    asked = snakemake.params
    provenance = gather(snakemake.wildcards.study, asked.asked, asked.coded, asked.received)
    text = json.dumps(provenance, indent=1, ensure_ascii=False, allow_nan=False)
    Path(snakemake.output.provenance).write_text(text + "\n", encoding="utf-8")
