"""A model for lm-evaluation-harness that gives recorded responses; run in its environment, in the folder of a task.

``python answer_with_lm_eval.py run --model recorded --model_args answers=ANSWERS.json --tasks TASK ...``; ANSWERS has a
response for the text of each prompt.
"""

import json
from pathlib import Path

from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model


@register_model("recorded")
class Recorded(LM):
    tokenizer_name = "recorded"

    def __init__(self, answers: str, **others: object) -> None:
        super().__init__()
        self.answers = json.loads(Path(answers).read_text(encoding="utf-8"))

    def generate_until(self, requests, disable_tqdm=False):  # type: ignore[no-untyped-def]
        return [self.answers[request.args[0]] for request in requests]

    def loglikelihood(self, requests):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood

    def apply_chat_template(self, chat_history, add_generation_prompt=True):  # type: ignore[no-untyped-def]
        return "\n\n".join(message["content"] for message in chat_history)

    def chat_template(self, chat_template=False) -> str:  # type: ignore[no-untyped-def]
        return ""


if __name__ == "__main__":
    cli_evaluate()
