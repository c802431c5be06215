"""Write the folder of a published study: data, metadata for other projects' tools, and a datasheet."""

from datetime import UTC, datetime
from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.inference.checkpoints import secrets_in
from cinorms.publish.contents import Member
from cinorms.publish.folder import FinishedFiles, publish

LANGUAGE = {
    "@id": "https://w3id.org/workflowhub/workflow-ro-crate#snakemake",
    "name": "Snakemake",
    "identifier": "https://snakemake.github.io/",
    "url": "https://snakemake.github.io/",
}

if __name__ == "__main__":
    given, params = snakemake.input, snakemake.params
    start_logging(snakemake.log[0], secrets_in(params.key_variables))
    items = publish(
        FinishedFiles(
            norms=given.norms,
            dictionary=given.dictionary,
            study=given.study,
            provenance=given.provenance,
            tables=list(given.tables),
            responses=[Member(*one) for one in params.responses],
            answers=[Member(*one) for one in params.answers],
            prompts=params.prompts,
            workflow=given.workflow,
            repeats=[Member(*one) for one in params.repeats],
            language=LANGUAGE,
        ),
        params.sources,
        datetime.now(UTC).date(),
        Path(snakemake.output.crate).parent,
        secrets_in(params.key_variables),
    )
    print(f"{len(items)} files")
