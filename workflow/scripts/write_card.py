"""Write the norm card of one model, for people and for programs."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.report.cards import card_json, card_markdown, make_card
from cinorms.report.results import read_results
from cinorms.study.facts import StudyFacts

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    results = read_results(StudyFacts.model_validate(snakemake.params.study), dict(snakemake.input.items()))
    card = make_card(results, snakemake.wildcards.model)
    Path(snakemake.output.text).write_text(card_markdown(card), encoding="utf-8")
    Path(snakemake.output.data).write_text(card_json(card), encoding="utf-8")
