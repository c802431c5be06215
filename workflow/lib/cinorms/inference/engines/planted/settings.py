"""Settings of a planted respondent in an entry of config/models.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from cinorms.core.schema import LeftOut, Number, Value
from cinorms.inference.settings import EntrySettings
from cinorms.planted.respondents import Acts, Respondent, Traces

Weight = Annotated[Number, Field(ge=0, le=1000)]


class Invalid(Value):
    """Share of each kind of invalid answer."""

    refusal: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Refuses to judge.")
    needs_context: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Asks for context.")
    nonsense: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Answers off the scale.")
    ambiguous: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Names several options.")
    conditional: LeftOut[Number] = Field(default=None, ge=0, le=1)
    """Gives one verdict with and another without consent or knowledge."""
    truncated: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Is cut off.")
    empty: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Writes nothing.")


class Trace(Value):
    """Lengths of traces in arms with `reasoning`; a planted trace has no words."""

    fill: Number = Field(default=Traces.fill, gt=0, le=10)
    """Median length of a trace as a share of the arm's budget."""
    spread: Number = Field(default=Traces.spread, ge=0, le=5)
    """Standard deviation of the logarithm of the lengths."""
    bias: Number = Field(default=Traces.bias, ge=0, le=100)
    """What 1,000 tokens of a trace add to position_share."""
    unanswered: Number = Field(default=Traces.unanswered, ge=0, le=1)
    """Share of the traces cut short by the budget that no answer follows."""


class PlantedActs(Value):
    """What it does in arms with `task: act`."""

    link: Number = Field(default=Acts.link, ge=0, le=1)
    """How far an action follows what the respondent says of the flow: 0 not at all, 1 wholly."""
    shift: Number = Field(default=Acts.shift, ge=-100, le=100)
    """Added to its readiness to share, in logits; without it an action shares what it would call acceptable."""
    careless: Number = Field(default=Acts.careless, ge=0, le=1)
    """Share of the actions that disclose everything, whatever it says: an error on one side only."""
    needless: Number = Field(default=Acts.needless, ge=0, le=1)
    """Share of the needed items that are withheld."""
    refuses: Number = Field(default=Acts.refuses, ge=0, le=1)
    """Share of the replies that refuse to act."""
    asks: Number = Field(default=Acts.asks, ge=0, le=1)
    """Share of the replies that ask the user."""
    unreadable: Number = Field(default=Acts.unreadable, ge=0, le=1)
    """Share of the replies that are no action."""


class Planted(Value):
    """What is planted in the respondent."""

    norms: LeftOut[str] = None
    """Name of a file of coefficients in resources/planted."""
    shift: Number = Field(default=Respondent.shift, ge=-100, le=100)
    """Added to the acceptability of every flow, in logits."""
    scale: Number = Field(default=Respondent.scale, ge=0, le=100)
    """Factor for all coefficients; below 1, the respondent distinguishes flows less."""
    template_sd: Number = Field(default=Respondent.template_sd, ge=0, le=100)
    """Standard deviation of the effects of the wordings, in logits."""
    noise: Number = Field(default=Respondent.noise, ge=0, le=100)
    """Scale of the logistic noise of single answers, in logits."""
    position_share: Number = Field(default=Respondent.position_share, ge=0, le=1)
    """Share of answers that depend on the position of the option, not on the flow."""
    position_weights: tuple[Weight, ...] = Field(
        default=Respondent.position_weights, min_length=5, max_length=5
    )
    """Weights of the five positions, first to last, for those answers."""
    verbose: Number = Field(default=Respondent.verbose, ge=0, le=1)
    """Share of valid answers that are inside a longer text."""
    invalid: LeftOut[Invalid] = Field(default=None, description=str(Invalid.__doc__))
    unrepeatable: Number = Field(default=Respondent.unrepeatable, ge=0, le=1)
    """Share of the answers that are another level when the arm is asked again (repeat)."""
    trace: LeftOut[Trace] = Field(default=None, description=str(Trace.__doc__))
    acts: LeftOut[PlantedActs] = Field(default=None, description=str(PlantedActs.__doc__))
    judge: LeftOut[Number] = Field(default=None, ge=0, le=1)
    """It is a judge of planted agents' actions (answers.coder), and this share of its verdicts is wrong."""
    control: LeftOut[Literal["constant_answer", "constant_position", "uniform", "refusing"]] = None
    """A negative control instead of norms."""


class PlantedSettings(EntrySettings):
    """A respondent with known norms."""

    planted: Planted
    """What is planted in the respondent."""
