"""Take the responses of a model from the files of another tool, matched to the prompts of the arm."""

from cinorms.core import csv_tables, tables
from cinorms.core.logs import start_logging
from cinorms.exchange.importing import import_responses
from cinorms.exchange.registry import format_named
from cinorms.inference.checkpoints import secrets_in
from cinorms.inference.request import Request

if __name__ == "__main__":
    secrets = secrets_in(snakemake.params.key_variables)
    start_logging(snakemake.log[0], secrets)
    arm = snakemake.params.arm
    imported = import_responses(
        format_named(arm["response_format"]),
        snakemake.input.files,
        Request.from_plain(snakemake.params.request),
        tables.read(snakemake.input.vignettes, tables.VIGNETTES),
        tables.read(snakemake.input.variants, tables.PROMPTS),
        arm["response_origin"],
        secrets,
    )
    csv_tables.write(imported.unmatched, snakemake.output.unmatched, csv_tables.UNMATCHED)
    tables.write(imported.responses, snakemake.output.responses, tables.RESPONSES, imported.metadata)
    print(imported.message(snakemake.wildcards.model, snakemake.output.unmatched))
