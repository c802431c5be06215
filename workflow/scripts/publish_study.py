"""Write the folder of a published study: data, metadata for other projects' tools, and a datasheet."""

import os
from datetime import UTC, datetime
from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.publish.contents import Member
from cinorms.publish.folder import Results, publish

LANGUAGE = {
    "@id": "https://w3id.org/workflowhub/workflow-ro-crate#snakemake",
    "name": "Snakemake",
    "identifier": "https://snakemake.github.io/",
    "url": "https://snakemake.github.io/",
}

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    given, params = snakemake.input, snakemake.params
    items = publish(
        Results(
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
        Path(snakemake.output.folder),
        [os.environ[name] for name in params.key_variables if os.environ.get(name)],
    )
    print(f"{len(items)} files")
