"""Files of scales, resources/scales: their keys, and how they are read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from cinorms.core.errors import ConfigError
from cinorms.core.scales import FOLDER, Scale
from cinorms.core.schema import Distinct, NotRequired, Text, Value
from cinorms.core.validation import load_as
from optionreader import ScaleError

Level = Annotated[int, Field(ge=-100, le=100)]
Words = Annotated[tuple[Text, ...], Field(min_length=1)]


class LineFile(Value):
    """A number line, in place of options; an answer is a whole number on it."""

    lowest: Level = Field(description="Its lowest number, -100 or more.")
    highest: Level = Field(description="Its highest number, 100 or less.")
    ends: tuple[Text, Text] = Field(description="What the lowest and the highest number mean.")
    bins: NotRequired[int] = Field(None, ge=2, le=11)
    """How many bins of equal width answers are put in; without it each number is kept as it is."""


class SaysFile(Value):
    """How the report, cards and figures put what an answer says, in English."""

    more: Text = Field(description="What a higher answer says, e.g. more acceptable.")
    less: Text = Field(description="What a lower answer says, e.g. less acceptable.")
    accept: NotRequired[Text] = None
    """What models do with a flow on the upper side of the scale, e.g. accept; default give a high answer to."""
    accepted: NotRequired[Text] = None
    """What such a flow then is, e.g. accepted; default rated high."""
    rejected: NotRequired[Text] = None
    """What a flow on the lower side is, e.g. rejected; default rated low."""


class WordsFile(Value):
    """What the reader must know of a language other than English."""

    negations: NotRequired[Words] = None
    """Words that deny an option in their sentence, such as not, no, never, neither."""
    hedges: NotRequired[Words] = Field(
        None, description="Words that say that an answer depends on something."
    )
    refusals: NotRequired[Words] = Field(None, description="Words with which no answer is given.")
    leads: NotRequired[Words] = None
    """Words before an option that call it the answer, such as my answer is, it is, I would say."""
    others: NotRequired[Words] = None
    """Words by which an option is what others say, or holds in another case, such as most people, if they had."""
    degrees: NotRequired[Words] = None
    """Words that make another option of the one they precede, such as very, rather, partly."""
    turns: NotRequired[Words] = None
    """Words such as but, however; what is said before one is not said of what follows it."""
    joins: NotRequired[Words] = None
    """Words between two options that leave open which is meant, such as or, and, to."""


class ScaleFile(Value):
    """Ordered answer options, or a number line."""

    title: Text = Field(description="Name for people, used in tables, figures and the report.")
    measure: str = Field(pattern=r"^[a-z][a-z0-9_]*(?!\n)$")
    """What an answer says of a flow, e.g. acceptability. A prompt set can offer every scale with its own measure."""
    language: NotRequired[Text] = Field(None, description="The language of the options; default English.")
    options: NotRequired[Distinct[Text]] = Field(None, min_length=2, max_length=11)
    """The options in words, lowest first, 2 to 11 of them."""
    also: NotRequired[Mapping[Text, Text]] = None
    """Other texts that name an option in a reply, and the option, e.g. completely acceptable: strongly acceptable."""
    line: NotRequired[LineFile] = Field(None, description=str(LineFile.__doc__))
    levels: NotRequired[tuple[Level, ...]] = Field(None, min_length=2, max_length=11)
    """The whole number that each option counts as, rising, -100 to 100. Without it: steps from the midpoint; without a
    midpoint, steps from the middle that leave out 0, or 1, 2, 3, ... for an odd number of options; the middle of each
    bin on a line."""
    midpoint: str | int | None = None
    """The option (or, on a line, the number) that says neither the one nor the other; null, or left out, for none."""
    says: NotRequired[SaysFile] = Field(
        None, description=f"{SaysFile.__doc__} Without it: higher and lower, with the name of the measure."
    )
    words: NotRequired[WordsFile] = Field(None, description=str(WordsFile.__doc__))


def load_scale(path: str | Path) -> Scale:
    """Read the scale at ``path``; its name is the file's name without ``.yaml``."""
    path = Path(path)
    stated = load_as(ScaleFile, path).model_dump(mode="json", exclude_unset=True)
    try:
        return Scale.from_mapping(path.stem, stated)
    except ScaleError as error:
        raise ConfigError(f"{path}: {error}") from None


def scale_near(path: Path, name: str) -> Scale:
    """Return the scale ``name`` for a file of resources: that of its own folder of resources, else the project's."""
    folders = [*(parent / "scales" for parent in path.absolute().parents), FOLDER]
    return load_scale(next(file for folder in folders if (file := folder / f"{name}.yaml").is_file()))
