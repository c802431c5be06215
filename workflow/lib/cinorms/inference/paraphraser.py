"""A model as paraphraser: ``python -m cinorms.inference.paraphraser --request JSON --runtime JSON ...``.

It is asked as any model is: every reply is in the store and is not bought twice, and what it costs counts under the
study's cap. A round is one prompt; the number of the round is the sample that is asked for.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.ending import ending_in_time
from cinorms.inference.ask import Asking, Job, followed_job
from cinorms.inference.checkpoints import fetched_revisions
from cinorms.inference.engine_kind import engine_kind
from cinorms.inference.processes import end_with_parent
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.responses import collect
from cinorms.inference.store import Store
from cinorms.prompts.paraphrase.generate import freeze
from cinorms.prompts.paraphrase.paraphrasers import (
    Ask,
    Candidates,
    Paraphraser,
    candidates_in,
    instruction_of,
)
from cinorms.prompts.variants import list_variants

#: Longest chat in tokens where an engine loads the model for a length: the registry states one for short questions.
MAX_MODEL_LEN = 4096


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask for the paraphrases that the arguments describe and freeze them."""
    parser = argparse.ArgumentParser(prog="cinorms.inference.paraphraser")
    for name in ("request", "runtime", "out", "log"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--checkpoints", nargs="*", default=[])
    options = parser.parse_args(arguments)
    request, runtime = json.loads(options.request), json.loads(options.runtime)
    with followed_job(options.log, runtime) as key:
        for record in options.checkpoints:
            for stated in (request["asked"], request["paraphraser"]):
                stated |= fetched_revisions(Path(record))
        freeze(request, ModelParaphraser(request, runtime, key), Path(options.out))


class ModelParaphraser(Paraphraser):
    """Asks for all rewordings of a round in one chat; the lines of the reply are the candidates."""

    def __init__(self, request: Mapping[str, Any], runtime: Mapping[str, Any], key: str | None) -> None:
        super().__init__(request["paraphraser"])
        self._request = Request.from_plain(request["asked"])
        self.packages = engine_kind(self._request.engine).packages
        self._runtime = dict(runtime)
        if (most := runtime.get("max_model_len")) is not None:
            self._runtime["max_model_len"] = max(most, MAX_MODEL_LEN)
        self._job = Job(self._runtime, key)

    def ask(self, ask: Ask) -> Candidates:
        """Ask for the rewordings of a round, or take its reply from the store."""
        request = replace(self._request, sample=1 + ask.seed - self._request.seed)
        # The instruction is the whole prompt: a template that shows no options.
        instruction = pd.DataFrame({"flow": np.zeros(1, np.int32), "vignette": [instruction_of(ask)]})
        questions = Questions.of(request, instruction, list_variants("paraphrases", ["{scenario}"], 1, 1))
        store = Store(Path(self._runtime["store"]), request, self._runtime["study"])
        self._job.ask([Asking(self._runtime["shard"], questions, store)])
        responses, about = collect(questions, store)
        (reply,) = responses.astype(object).to_dict("records")
        finish = str(reply["finish_reason"])
        named = {"model": about["answered_by"], "system_fingerprint": about["fingerprints"]}
        reported = {name: str(next(iter(found))) for name, found in named.items() if found}
        text = reply["text"] if isinstance(reply["text"], str) else ""
        candidates = candidates_in(text, cut_off=finish == "length")
        return Candidates(candidates, {**reported, "finish_reason": finish}, ", ".join(about["errors"]))


if __name__ == "__main__":
    with ending_in_time():
        main()
elif __name__ == "__mp_main__":  # in a process that vLLM starts for this one
    end_with_parent()
