"""Have a planted respondent answer the questions of an arm."""

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.responses import of_frame, response_facts
from cinorms.planted.respondents import answer

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    request = Request.from_plain(snakemake.params.request)
    vignettes = tables.read(snakemake.input.vignettes, tables.VIGNETTES)
    questions = Questions.of(request, vignettes, tables.read(snakemake.input.variants, tables.PROMPTS))
    replies = answer(request.plain(), questions.flows, questions.variants, questions.grid)
    responses = of_frame(questions, replies)
    tables.write(responses, snakemake.output.responses, tables.RESPONSES, response_facts(questions))
    print(f"{request.model}: {len(responses):,} responses")
