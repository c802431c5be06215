"""The schemas of the CSV files made for people, other than those of analyses and figures."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cinorms.core.csv_files import write_csv
from cinorms.core.errors import DataError


@dataclass(frozen=True)
class CsvTable:
    """A file of a study: its content, the columns that tell its rows apart, and one sentence per column.

    ``only`` names the columns that not every study has.
    """

    name: str
    file: str
    holds: str
    key: tuple[str, ...]
    about: dict[str, str]
    only: frozenset[str] = frozenset()


#: What is known of a plan only where an arm states how models reason.
OF_TRACES = ("trace_tokens", "trace_tokens_most", "gpu_minutes_most", "usd_most")

PLAN = CsvTable(
    "plan",
    "plan.csv",
    "What the study asks each model in each arm, and what that is estimated to cost.",
    ("arm", "model"),
    {
        "arm": "Name of the arm; coder.SCALE for the coder, where it reads all actions of the arms that act.",
        "model": "Name of the model.",
        "engine": "The engine that asks the model.",
        "flows": "Flows that are asked about.",
        "templates": "Wordings in which each flow is asked.",
        "orders": "Answer orders in which each wording is asked.",
        "prompts": "Prompts that are sent: flows x wordings x orders; of a coder, at most so many.",
        "input_tokens": "Estimated tokens of all prompts.",
        "output_tokens": "Estimated tokens of all answers.",
        "gpus": "GPUs of a job.",
        "gpu_minutes": "Estimated GPU-minutes; missing where the registry states no rate.",
        "usd": "Estimated dollars; missing where the registry states no price.",
        "trace_tokens": "Expected tokens of all traces: rates.trace_share (or half) of the budget for each "
        "prompt: the arm's, or extra_tokens of the model's entry (only where one is stated).",
        "trace_tokens_most": "Tokens of all traces if each is as long as the budget (only where one is stated).",
        "gpu_minutes_most": "GPU-minutes if each trace is as long as the budget (only where one is stated).",
        "usd_most": "Dollars if each trace is as long as the budget (only where one is stated).",
        "phi": "Predicted coefficient Phi of a flow's mean (only with existing answers).",
        "templates_needed": "Wordings needed for plan.target_phi (only with existing answers).",
    },
    frozenset({"phi", "templates_needed", *OF_TRACES}),
)
PREVIEW = CsvTable(
    "preview",
    "prompts/{arm}.preview.csv",
    "A sample of the prompts of an arm, as they are sent.",
    ("flow", "variant", "layout"),
    {
        "flow": "The flow that is asked about.",
        "variant": "The variant of the prompt.",
        "layout": "How the prompt is divided into messages.",
        "system_message": "The system message; missing where there is none.",
        "user_message": "The user message.",
    },
)
UNMATCHED = CsvTable(
    "unmatched",
    "responses/{arm}/{model}.unmatched.csv",
    "Responses of another tool that answer no prompt of the arm or are doubled, and prompts without a response.",
    ("reason", "file", "line", "flow", "template", "order", "sha256", "text"),
    {
        "reason": "Why: unknown_prompt, unknown_numbers (no such flow, wording and order), other_prompt (the hash is "
        "another's), asked_otherwise (the file records another prompt than the id or the numbers name), shared_prompt "
        "(several questions have this prompt), repeated (the same again), contradicting "
        "(several texts, none is used); not_received for a prompt.",
        "file": "Name of the file; missing for a prompt.",
        "line": "Line of the file; missing for a prompt.",
        "flow": "Number of the flow; missing where the response has none.",
        "template": "Number of the wording; missing where the response has none.",
        "order": "Number of the answer order; missing where the response has none.",
        "sha256": "SHA-256 of the prompt, or its beginning; missing where the response has none.",
        "text": "The response; missing for a prompt, and where the model gave no text.",
    },
)
REVIEW = CsvTable(
    "review",
    "answers/{arm}/{model}.review.csv",
    "Texts that no exact rule read, the most frequent first, for a person to read.",
    ("text", "level", "status", "rule"),
    {
        "sha256": "SHA-256 of the text; a file of overrides can name the text by it.",
        "text": "What the model wrote.",
        "count": "Responses with this text.",
        "flow": "Number of the first flow that was answered with this text.",
        "variant": "The variant in which that flow was answered so.",
        "level": "The level that was read; missing unless the status is ok.",
        "status": "ok, or why the answer has no level.",
        "rule": "The rule that read the answer.",
    },
)
OVERRIDES = CsvTable(
    "overrides",
    "answers/overrides.csv",
    "The manually coded answers of the study's file of overrides, and how many responses each settles.",
    ("line",),
    {
        "line": "Line of the file of overrides.",
        "sha256": "SHA-256 of the text; missing where the line gives only the place of an answer.",
        "text": "The text; missing where the line gives none.",
        "arm": "Arm of a single answer; missing in a line about all replies with its text.",
        "model": "Model of a single answer; missing likewise.",
        "flow": "Number of the flow of a single answer; missing likewise.",
        "variant": "Variant of a single answer; missing likewise.",
        "level": "The level that the person gave it; missing for a status.",
        "status": "ok for a level, else the status that the person gave it.",
        "note": "The person's note.",
        "n_responses": "Responses of the study that the line settles.",
    },
)
TO_CODE = CsvTable(
    "to_code",
    "coding/to_code.csv",
    "A sample of the replies that no exact rule read, for a person to code.",
    ("item",),
    {
        "item": "Name of a distinct reply to a flow.",
        "options": "The options of the scale, lowest first.",
        "flow": "The flow as text, as the model was asked about it.",
        "reply": "What the model replied.",
        "cut": "yes where the length limit cut the reply.",
        "code": "What the person writes: an option, or why the reply gives none.",
    },
)
AGREEMENT = CsvTable(
    "agreement",
    "coding/agreement.csv",
    "How well the coder agrees with a person.",
    ("model", "kind"),
    {
        "model": "The model whose replies were coded.",
        "kind": "level: codes with a level where the rules found none; contested: other codes than the level of a "
        "loose rule; refusal, needs_context, conditional, ambiguous, truncated, nonsense: why there is no level, where "
        "the rules found none either.",
        "codes": "Codes of this kind that the coder gave.",
        "sample": "How many of them are in the sample.",
        "coded_by_hand": "How many replies of the sample a person has coded.",
        "agreed": "How many of those codes the person confirms: the same level, or the same reason for none.",
        "share": "agreed divided by coded_by_hand; missing without any.",
        "low": "Lower end of Wilson's 95% interval of the share, over replies; lower if answers.tried is over 1.",
        "high": "Its upper end.",
        "needed": "The setting answers.agreement: the lower end must be at least this.",
        "status": "counts, or why the codes of this kind do not count: sample_incomplete, agreement_too_low.",
    },
)
COMPARISON = CsvTable(
    "comparison",
    "comparison.csv",
    "The numbers printed in a paper, next to those computed here.",
    ("item", "cell"),
    {
        "paper": "The paper.",
        "item": "Table or passage of the paper.",
        "cell": "Which number of that table or passage.",
        "printed": "The number as printed.",
        "computed": "The number computed here, rounded like the printed one.",
        "computed_full": "The number computed here, unrounded.",
        "match": "yes, no, within reach (its last digit depends on the machine) or not counted; of a claim in words, "
        "holds or does not hold.",
    },
)
IMAGES = CsvTable(
    "images",
    "images.csv",
    "What the authors' own images of a paper's figures show, next to the figures of this study.",
    ("item", "cell"),
    {
        "paper": "The paper.",
        "item": "The figure.",
        "counted": "What of the figure is counted.",
        "cell": "Which part of the figure.",
        "printed": "What the image shows there, read by pixel.",
        "computed": "What this study's figure shows there; empty where it has no such part.",
        "match": "yes or no.",
    },
)
SENTENCES = CsvTable(
    "sentences",
    "sentences.csv",
    "Sentences of a paper about flows, compared with the norms of its published answers.",
    ("sentence", "model", "flow"),
    {
        "paper": "Another paper whose sentence it is; empty for the paper compared.",
        "section": "Section of the paper.",
        "sentence": "The sentence, shortened.",
        "model": "The model; two where the sentence says that they differ.",
        "flow": "The flow, or how many flows a sentence about most of them has.",
        "stated": "What the sentence says.",
        "found": "The norm of the published answers, or the share of flows with one of the stated norms.",
        "holds": "yes, no, or not counted (a sentence about most of its flows).",
        "tie": "yes where several answers are equally frequent; the norm is then the first by the variants' names.",
        "remark": "What the published answers say instead, where the release states that the sentence is a slip.",
    },
)
DICTIONARY = CsvTable(
    "dictionary",
    "dictionary.csv",
    "What every table of the study holds, and what each of its columns means.",
    ("file", "column"),
    {
        "file": "The file, below the folder of the study; a name in braces stands for each arm, model or dataset.",
        "holds": "What the file holds, and what a row of it is.",
        "column": "Name of the column; missing where the headings are those of a printed table.",
        "description": "What the column holds.",
    },
)
#: All of these files; they are declared in the order in which a study makes them.
CSV_TABLES = tuple(table for table in list(vars().values()) if isinstance(table, CsvTable))


def write(frame: pd.DataFrame, path: str | Path, table: CsvTable) -> None:
    """Write ``frame`` as ``table`` declares it; raise ``DataError`` where it has other columns."""
    names = [str(name) for name in frame.columns]
    if names != [name for name in table.about if name in names or name not in table.only]:
        raise DataError(f"table {table.name}: its columns are {names}, expected {list(table.about)}")
    write_csv(frame, path)
