"""Answer the exported prompts in Inspect, with its model mockllm. Run this in Inspect's environment.

``python answer_with_inspect.py ANSWERS.json TASK.py LOG_DIR [eval|json]`` in the folder of the task; ANSWERS has a
response for the text of each prompt.
"""

import json
import sys
from pathlib import Path

from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model


def main(answers: str, task: str, logs: str, log_format: str = "eval") -> None:
    known = json.loads(Path(answers).read_text(encoding="utf-8"))

    def answer(messages, tools, tool_choice, config) -> ModelOutput:  # type: ignore[no-untyped-def]
        text = known["\n\n".join(message.text for message in messages)]
        output = ModelOutput.from_content("mockllm", text)
        # Stated, or Inspect downloads a tokeniser to count them.
        output.usage = ModelUsage(input_tokens=90, output_tokens=4, total_tokens=94)
        return output

    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = evaluate(task, model=model, log_dir=logs, log_format=log_format, display="none")
    assert log.status == "success", log.error and log.error.message


if __name__ == "__main__":
    main(*sys.argv[1:])
