"""Have a planted respondent answer the questions of an arm, and write the norms that it was given."""

import json
from pathlib import Path

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.responses import of_frame, response_metadata
from cinorms.planted.respondents import answer, describe, plant, respondent_of

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    stated, written = snakemake.params.request, snakemake.output
    request, vignettes = Request.from_plain(stated), tables.read(snakemake.input.vignettes, tables.VIGNETTES)
    questions = Questions.of(request, vignettes, tables.read(snakemake.input.variants, tables.PROMPTS))
    norms, flows = None, questions.flows
    if written.get("planted"):  # a coder has no norms
        norms = plant(respondent_of(stated), flows, request.factors, request.answer_scale, request.seed)
        tables.write(norms, written.planted, tables.PLANTED)
        planted = describe(stated, flows)
        Path(written.coefficients).write_text(json.dumps(planted, indent=1) + "\n", encoding="utf-8")
    responses = of_frame(questions, answer(stated, flows, questions.variants, questions.grid, norms))
    tables.write(responses, written.responses, tables.RESPONSES, response_metadata(questions))
    print(f"{request.model}: {len(responses):,} responses")
