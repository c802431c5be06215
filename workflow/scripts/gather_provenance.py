"""Gather what every response of the study was made with."""

import json
from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.inference.provenance import gather

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    given, named = snakemake.input, snakemake.params
    asked = [
        {"arm": arm, "model": model, "planted": model in named.planted, "responses": path}
        for (arm, model), path in zip(named.asked, given.responses, strict=True)
    ]
    coded = [
        {"scale": scale, "model": named.coder, "planted": False, "responses": path}
        for scale, path in zip(named.scales, given.coded, strict=False)
    ]
    received = [
        {"arm": arm, "model": model, "responses": path}
        for (arm, model), path in zip(named.received, given.received, strict=True)
    ]
    provenance = gather(snakemake.wildcards.study, asked, coded, received)
    text = json.dumps(provenance, indent=1, ensure_ascii=False, allow_nan=False)
    Path(snakemake.output.provenance).write_text(text + "\n", encoding="utf-8")
