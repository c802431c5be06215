"""Write the norm card of each model, for people and for programs."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.report.cards import card_json, card_markdown, make_card
from cinorms.report.results import read_results
from cinorms.study.metadata import StudyMetadata

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    study = StudyMetadata.model_validate(snakemake.params.study)
    results = read_results(study, dict(snakemake.input.items()))
    for model, text, data in zip(study.models, snakemake.output.text, snakemake.output.data, strict=True):
        card = make_card(results.of_model(model), model)
        Path(text).write_text(card_markdown(card), encoding="utf-8")
        Path(data).write_text(card_json(card), encoding="utf-8")
    print(f"{len(study.models)} cards")
