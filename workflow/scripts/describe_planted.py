"""Write what was planted: every flow's norm, and every coefficient."""

import json
from pathlib import Path

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.planted.respondents import describe, plant, respondent_of
from cinorms.prompts.variants import select_flows

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    request = snakemake.params.request
    vignettes = select_flows(tables.read(snakemake.input.vignettes, tables.VIGNETTES), request["select"])
    planted = plant(
        respondent_of(request),
        vignettes,
        request["factors"],
        Scale.from_plain(request["scale"]),
        request["seed"],
    )
    tables.write(planted, snakemake.output.planted, tables.PLANTED)
    facts = describe(request, vignettes)
    Path(snakemake.output.coefficients).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(f"{request['model']}: {len(facts['coefficients'])} coefficients, {len(planted):,} flows")
