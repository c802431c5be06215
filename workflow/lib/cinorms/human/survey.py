"""Surveys: what a file of ``resources/ratings`` declares about people's ratings of the flows of a dataset."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from cinorms.core.errors import ConfigError
from cinorms.core.schema import Distinct, Name, NotRequired, Number, SomeText, Value
from cinorms.core.validation import load_as
from cinorms.vignettes.source_files import Declared, Origin, SourceFile, own_files, read_source

#: Between the name of a survey and that of one of its questions.
SEPARATOR = "/"

#: The column that the answers of a wide file get.
ANSWER = "answer"

Amount = Annotated[int, Field(ge=1, le=1_000_000)]


class Rater(Value):
    """Who gave a rating; running numbers replace the values on reading."""

    column: SomeText = Field(description="The column that tells people apart, such as a worker's id.")


class FactorColumn(Value):
    """Where the levels of a factor are, and the dataset's level for what the file spells differently."""

    column: SomeText = Field(description="The column with its levels.")
    levels: Mapping[str, Annotated[SomeText, Field(description="Level of the dataset.")]] = Field(
        {}, min_length=1, description="The dataset's level for each value that the file spells differently."
    )


class Question(Value):
    """One question: the column with its ratings, and the value of each option of the scale, lowest first."""

    text: SomeText = Field(description="The question in the survey's words.")
    column: SomeText
    """The column with the ratings; an empty cell is a question left unanswered."""
    values: Distinct[str | Number] = Field((), min_length=2)
    """The value that the file has for each option of the scale, lowest option first. Leave it out for a number line,
    whose numbers are taken as they are."""
    not_ratings: Mapping[
        str, Annotated[SomeText, Field(description="What the code says, in a few words.")]
    ] = Field(
        {},
        min_length=1,
        description="Codes in the column that are answers but no ratings, such as don't know, and what each says. They "
        "get the status not_a_rating and no level.",
    )


class RowCheck(Value):
    """What is done with rows that have one of ``values`` in ``column``."""

    column: SomeText = Field(description="The column.")
    values: Distinct[str | Number] = Field(min_length=1)
    """The values, as text, for which something is done."""
    then: Literal["keep", "no_answer", "leave_out", "leave_out_rater"]
    """keep: nothing, the ratings count (the number is in the log). no_answer: the rating becomes an answer without a
    level, with the status nonsense. leave_out: the row is left out. leave_out_rater: all rows of the person are."""


class QuestionsFile(SourceFile):
    """The CSV file that says which column of a wide file is which question, a row per question."""

    column: SomeText = Field(description="Its column that names a question.")
    prefix: str = Field("", description="What precedes that name in the header of the wide file.")


class NumberedAs(SourceFile):
    """The CSV file of another survey that some of the people answered too: they have its numbers, others the next ones.

    So the same person has the same number in both, if that survey takes all rows of the file as they are.
    """

    column: SomeText = Field(description="Its column that tells people apart, with the same ids as `rater`.")
    then: Literal["keep", "leave_out"] = "keep"
    """What is done with people who are in that file too. Either way the log says how many they are."""


class SurveyFile(Value):
    """A survey in which people rated the flows of a dataset."""

    title: SomeText = Field(description="Name for people, used in tables, figures and the report.")
    people: SomeText = Field(description="Who rated, in a few words, e.g. 300 US users of ChatGPT.")
    simulated: bool = False
    """true: nobody was asked, a script made the ratings; tables, figures and pages say so."""
    dataset: SomeText = Field(description="The dataset of resources/vignettes whose flows were rated.")
    scale: SomeText = Field(description="The answer scale that the ratings are on; that of the dataset.")
    origin: Origin = Field(description="Where the ratings come from.")
    file: SourceFile
    """The CSV file with a header, in UTF-8. It is downloaded once, checked, and never becomes part of the project or of
    results."""
    layout: Literal["long", "wide"] = Field(
        "long",
        description="long: a row per rating. wide: a row per person and a column per flow; the answers are then the "
        f"column {ANSWER!r}, and columns of questions_file can be named like those of the file itself.",
    )
    files: Distinct[SomeText] = Field((), min_length=1)
    """The CSV files inside `file`, if that is a zip archive, in their order."""
    questions_file: NotRequired[QuestionsFile] = Field(
        None,
        description=f"For layout wide: {str(QuestionsFile.__doc__)[0].lower()}{str(QuestionsFile.__doc__)[1:]}",
    )
    skip_rows: int = Field(0, ge=0, le=100)
    """For layout wide: rows after the header that are no person's, such as the questions' texts."""
    one_answer: Literal["keep", "leave_out"] = "keep"
    """What is done with people who gave one and the same rating throughout (to ten flows or more). Either way the log
    says how many they are."""
    rater: Rater = Field(description=str(Rater.__doc__))
    numbered_as: NotRequired[NumberedAs] = Field(None, description=str(NumberedAs.__doc__).partition("\n")[0])
    repeated: bool = False
    """true: people may have rated a flow more than once. false: a second row with the same person, flow and answer is
    refused, because it was probably pasted twice; a second row with another answer counts either way."""
    flow: NotRequired[SomeText] = None
    """The column with the number of the flow in the dataset, from 0; or else give factors."""
    factors: Mapping[str, FactorColumn] = Field({}, min_length=1)
    """Where the levels of each factor of the dataset are; or else give flow."""
    where: Mapping[str, Annotated[SomeText, Field(description="The value as text.")]] = Field(
        {}, min_length=1
    )
    """Column -> value; rows with other values are left out, for a file that holds several surveys."""
    questions: Mapping[Name, Question] = Field(min_length=1)
    """The questions that were asked about each flow, by name; an arm takes the first unless it names another."""
    checks: tuple[RowCheck, ...] = Field((), min_length=1)
    """Columns that tell that a rating or a person should not count."""
    raters: Amount
    """Number of people in the file (after `where`); a study is planned with it, and it is checked on reading."""
    ratings: NotRequired[int] = Field(None, ge=1)
    """Number of rows in the file (after `where`), or of answers in a wide file; checked if given."""


class Survey(Declared, SurveyFile):
    """What people rated: a survey as the file at ``path`` declares it; ``file`` says where its CSV file is."""

    @property
    def sources(self) -> dict[str, SourceFile]:
        """The files to fetch, by what is in them: ratings, questions of a wide file, and people of another survey."""
        named = {"ratings": self.file, "questions": self.questions_file, "people": self.numbered_as}
        return {name: file for name, file in named.items() if file}

    def same_numbers(self, other: "Survey") -> bool:
        """Tell whether a person who is in both surveys has the same number in both, and no two people have one."""
        if self.name == other.name:
            return True
        (mine, plain), (theirs, also) = self._numbering, other._numbering  # noqa: SLF001 - of the same class
        # Two files that both go on from a third would give the next numbers twice.
        return mine == theirs and (plain or also or self.file.url == other.file.url == mine[0])

    @property
    def _numbering(self) -> tuple[tuple[str, str], bool]:
        """The file and column that number the people, and whether that is the survey's own file with all its rows."""
        if self.numbered_as:
            return (self.numbered_as.url, self.numbered_as.column), False
        plain = self.layout == "long" and not self.where and not self.files
        return (self.file.url if plain else self.name, self.rater.column), plain

    @property
    def asked_in(self) -> QuestionsFile:
        """The file with the questions of a wide file."""
        assert self.questions_file is not None
        return self.questions_file

    def inputs(self) -> dict[str, list[str]]:
        """Return what a rule that reads the ratings must name: the survey's file, and the user's ``own`` CSV file."""
        return {"survey": [str(self.path)], "own": own_files(self.sources.values())}

    def question(self, name: str) -> Question:
        """Return the question ``name``, or the first for an empty name."""
        return self.questions[name or next(iter(self.questions))]

    def columns(self, question: Question) -> list[str]:
        """Return the columns that are read; all others may tell who somebody is."""
        named = [self.rater.column, *([self.flow] if self.flow else []), question.column]
        named += [factor.column for factor in self.factors.values()]
        return list(dict.fromkeys([*named, *self.where, *(check.column for check in self.checks)]))


def split_name(ratings: str) -> tuple[str, str]:
    """Return the survey and the question (empty: the first) that an arm names as ``survey`` or ``survey/question``."""
    survey, _, question = ratings.partition(SEPARATOR)
    return survey, question


def load_survey(path: str | Path) -> Survey:
    """Read the survey at ``path``; its name is the file's name without ``.yaml``.

    Raises ``ConfigError`` with the file, the key, what is given and what is allowed.
    """
    path = Path(path)
    stated = load_as(SurveyFile, path)
    if (stated.flow is None) == (not stated.factors):
        problem = "has both" if stated.flow else "is missing"
        raise ConfigError(
            f"{path}: flow: {problem}; name either the column with the numbers of the flows under 'flow', or "
            "the columns of the factors under 'factors'"
        )
    _check_layout(path, stated)
    files = {key: getattr(stated, key) for key in ("file", "questions_file", "numbered_as")}
    files = {key: file and read_source(path, key, file) for key, file in files.items()}
    return Survey.model_construct(**{**dict(stated), **files}, path=path)


def _check_layout(path: Path, stated: SurveyFile) -> None:
    """Refuse keys of a wide file in a long one, a wide file without them, and codes that are ratings too."""
    wide = stated.layout == "wide"
    if wide == (stated.questions_file is None):
        what = "is missing; layout: wide needs it" if wide else "is only for layout: wide; leave it out"
        raise ConfigError(f"{path}: questions_file: {what}")
    for name, question in stated.questions.items():
        if wide and question.column != ANSWER:
            raise ConfigError(
                f"{path}: questions.{name}.column: is {question.column!r}; allowed with layout: wide: {ANSWER!r}"
            )
        both = sorted(set(question.not_ratings) & {str(value) for value in question.values})
        if both:
            raise ConfigError(
                f"{path}: questions.{name}.not_ratings: {both[0]!r} is among the values too; keep it in one of them"
            )
