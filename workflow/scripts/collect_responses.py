"""Take the replies to the questions of an arm from the store, in order."""

import json
from pathlib import Path

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.inference.checkpoints import fetched_revisions
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.responses import collect, response_metadata
from cinorms.inference.store import Store, stores_of

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    given, written = snakemake.input, snakemake.output
    request = Request.from_plain(snakemake.params.request)
    if record := given.get("checkpoint"):
        request = request.with_settings(**fetched_revisions(Path(record)))
    vignettes = tables.read(given.vignettes, tables.VIGNETTES)
    questions = Questions.of(request, vignettes, tables.read(given.variants, tables.PROMPTS))
    store = Store(stores_of(Path(written.metadata).parents[2]), request, snakemake.wildcards.study)
    responses, metadata = collect(questions, store)
    tables.write(responses, written.responses, tables.RESPONSES, response_metadata(questions))
    about = {"store": store.folder.name, **metadata, "usd": store.usd(), "runs": store.runs()}
    Path(written.metadata).write_text(
        json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    print(f"{request.model}: {len(questions.grid):,} responses from {store.folder}")
