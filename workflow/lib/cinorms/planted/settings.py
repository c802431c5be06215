"""What is planted in respondents: keys of their entries in config/models.yaml, and files of planted norms."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.core.schema import NotRequired, Number, Value
from cinorms.core.validation import load_as

Weight = Annotated[Number, Field(ge=0, le=1000)]


class Invalid(Value):
    """Share of each kind of invalid answer."""

    refusal: NotRequired[Number] = Field(None, ge=0, le=1, description="Refuses to judge.")
    needs_context: NotRequired[Number] = Field(None, ge=0, le=1, description="Asks for context.")
    nonsense: NotRequired[Number] = Field(None, ge=0, le=1, description="Answers off the scale.")
    ambiguous: NotRequired[Number] = Field(None, ge=0, le=1, description="Names several options.")
    conditional: NotRequired[Number] = Field(None, ge=0, le=1)
    """Gives one verdict with and another without consent or knowledge."""
    truncated: NotRequired[Number] = Field(None, ge=0, le=1, description="Is cut off.")
    empty: NotRequired[Number] = Field(None, ge=0, le=1, description="Writes nothing.")


class Traces(Value):
    """Lengths of traces in arms with `reasoning`; a planted trace has no words."""

    fill: Number = Field(default=0.5, gt=0, le=10)
    """Median length of a trace as a share of the arm's budget."""
    spread: Number = Field(default=0.5, ge=0, le=5)
    """Standard deviation of the logarithm of the lengths."""
    bias: Number = Field(default=0.0, ge=0, le=100)
    """What 1,000 tokens of a trace add to position_share."""
    unanswered: Number = Field(default=0.0, ge=0, le=1)
    """Share of the traces cut short by the budget that no answer follows."""


class Acts(Value):
    """What it does in arms with `task: act`."""

    link: Number = Field(default=1.0, ge=0, le=1)
    """How far an action follows what the respondent says of the flow: 0 not at all, 1 wholly."""
    shift: Number = Field(default=0.0, ge=-100, le=100)
    """Added to its readiness to share, in logits; without it an action shares what it would call acceptable."""
    careless: Number = Field(default=0.0, ge=0, le=1)
    """Share of the actions that disclose everything, whatever it says: an error on one side only."""
    needless: Number = Field(default=0.0, ge=0, le=1)
    """Share of the needed items that are withheld."""
    refuses: Number = Field(default=0.0, ge=0, le=1)
    """Share of the replies that refuse to act."""
    asks: Number = Field(default=0.0, ge=0, le=1)
    """Share of the replies that ask the user."""
    unreadable: Number = Field(default=0.0, ge=0, le=1)
    """Share of the replies that are no action."""


class Planted(Value):
    """What is planted in the respondent."""

    norms: NotRequired[str] = None
    """Name of a file of coefficients in resources/planted."""
    shift: Number = Field(default=0.0, ge=-100, le=100)
    """Added to the acceptability of every flow, in logits."""
    template_sd: Number = Field(default=0.0, ge=0, le=100)
    """Standard deviation of the effects of the wordings, in logits."""
    noise: Number = Field(default=0.0, ge=0, le=100)
    """Scale of the logistic noise of single answers, in logits."""
    position_share: Number = Field(default=0.0, ge=0, le=1)
    """Share of answers that depend on the position of the option, not on the flow."""
    position_weights: tuple[Weight, ...] = Field(
        default=(1.0, 1.0, 1.0, 1.0, 1.0), min_length=5, max_length=5
    )
    """Weights of the five positions, first to last, for those answers."""
    verbose: Number = Field(default=0.0, ge=0, le=1)
    """Share of valid answers that are inside a longer text."""
    invalid: NotRequired[Invalid] = Field(default=None, description=str(Invalid.__doc__))
    unrepeatable: Number = Field(default=0.0, ge=0, le=1)
    """Share of the answers that are another level when the arm is asked again (repeat)."""
    trace: NotRequired[Traces] = Field(default=None, description=str(Traces.__doc__))
    acts: NotRequired[Acts] = Field(default=None, description=str(Acts.__doc__))
    judge: NotRequired[Number] = Field(default=None, ge=0, le=1)
    """It is a judge of planted agents' actions (answers.coder), and this share of its verdicts is wrong."""
    control: NotRequired[Literal["constant_answer", "constant_position", "uniform", "refusing"]] = None
    """A negative control instead of norms."""


class Respondent(Planted):
    """A respondent with what is planted in it: the keys of its entry, and the norms of the file that this names."""

    name: str
    thresholds: tuple[Number, ...] = (-1.5, -0.5, 0.5, 1.5)
    coefficients: Mapping[str, Mapping[str, Number]] = {}
    other_levels_sd: Number = 1.0

    @property
    def invalid_shares(self) -> dict[str, float]:
        """The share of each kind of invalid answer, the same in whichever order the entry states them."""
        return dict(sorted(self.invalid.model_dump(exclude_none=True).items())) if self.invalid else {}


# --- Files of planted norms, resources/planted/{name}.yaml

Coefficient = Annotated[Number, Field(description="Coefficient in logits.")]


class NormsFile(Value):
    """A cumulative-logit model over the factors of a dataset."""

    title: str = Field(description="Name for people.")
    origin: str = Field(description="Where the numbers come from.")
    thresholds: tuple[Number, Number, Number, Number]
    """Four rising cut points in logits, on the scale where the baseline flow is 0."""
    other_levels_sd: Number = Field(1.0, ge=0)
    """Standard deviation of the seeded coefficients of levels that are not listed."""
    coefficients: Mapping[
        str, Annotated[Mapping[str, Coefficient], Field(description="Level -> coefficient.")]
    ] = Field(description="Factor -> level -> coefficient in logits; a baseline level has 0.")


def load_planted(files: Root, name: str) -> dict[str, Any]:
    """Read and check a file of planted norms, the coefficients that respondents hold."""
    path = files.names("planted")[name]
    norms = load_as(NormsFile, path, files.shown(path)).model_dump(mode="json", exclude_unset=True)
    if sorted(set(norms["thresholds"])) != norms["thresholds"]:
        raise ConfigError(
            f"{files.shown(path)}: thresholds: {norms['thresholds']} do not rise; put each above the last"
        )
    return norms
