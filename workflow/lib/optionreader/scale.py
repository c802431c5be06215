"""Answer scales: ordered options, each with its words and the whole number that it counts as, its level."""

import bisect
import difflib
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from optionreader.cleaning import normalise

FOLDER = Path(__file__).with_name("scales")
#: The names of the scales that come with this library.
SHIPPED = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))
#: Most options of a scale that are words.
MOST_OPTIONS = 11

#: The keys of a file. `says` is for programs that write about answers, and not read here.
_KEYS = ("title", "measure", "language", "options", "also", "line", "levels", "midpoint", "words", "says")
_LINE_KEYS = ("lowest", "highest", "ends", "bins")
WORD_KINDS = ("negations", "hedges", "refusals", "leads", "others", "degrees", "turns", "joins")
#: A number that an option begins with: "1 definitely not okay".
NUMBERED = re.compile(r"(-?\d+)(?!\w)(?:[\s.):=-]+(?=\w)|$)")
#: A letter that an option begins with: "A) London".
LETTERED = re.compile(r"\W*([a-k])[.):\]]+\s*(?=\w)")


class ScaleError(ValueError):
    """A file or mapping is no scale: which key, what it has, and what is allowed."""


@dataclass(frozen=True)
class Line:
    """A number line, which is answered with a whole number; ``ends`` are the words of its two ends."""

    lowest: int
    highest: int
    ends: tuple[str, str]

    def bins(self, count: int | None = None) -> list[tuple[int, int]]:
        """Return the first and the last number of ``count`` bins, which differ by one number at most.

        Without ``count``, each number is a bin.
        """
        n = self.highest - self.lowest + 1
        count = count or n
        size, larger = divmod(n, count)
        starts = [self.lowest + i * size + min(i, larger) for i in range(count + 1)]
        return [(start, after - 1) for start, after in itertools.pairwise(starts)]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Ordered answer options, lowest first; option ``i`` counts as ``levels[i]``.

    ``measure`` is what the options say of a thing, for programs that offer several scales. ``midpoint`` is the level
    that says neither the one nor the other, if there is one. ``language`` is the language of the options, and ``words``
    are what the reader must know of it, by kind. ``also`` are other texts that name an option. A number line has an
    option for each of its numbers, or for each of its bins.
    """

    name: str
    title: str = ""
    measure: str = ""
    options: tuple[str, ...]
    levels: tuple[int, ...]
    midpoint: int | None = None
    language: str = "English"
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    also: tuple[tuple[str, str], ...] = ()
    line: Line | None = None

    @classmethod
    def shipped(cls, name: str) -> Self:
        """Return one of the scales that come with this library, `SHIPPED`."""
        if name not in SHIPPED:
            raise ScaleError(f"{name!r} is not a shipped scale; {_allowed(name, SHIPPED)}")
        return cls.from_yaml(FOLDER / f"{name}.yaml")

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read the scale in a YAML file; its name is the file's name without ``.yaml``."""
        import yaml  # a program that reads no file of a scale needs none

        path = Path(path)
        try:
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
            return cls.from_mapping(path.stem, document)
        except ScaleError as error:
            raise ScaleError(f"{path}: {error}") from None
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise ScaleError(f"{path}: cannot be read ({reason})") from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise ScaleError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None

    @classmethod
    def from_mapping(cls, name: str, document: Mapping[str, Any]) -> Self:
        """Return the scale that the keys of a file state."""
        _check(document)
        stated, midpoint = document.get("line"), document.get("midpoint")
        line = Line(stated["lowest"], stated["highest"], tuple(stated["ends"])) if stated else None
        bins = line.bins(stated.get("bins")) if stated and line else []
        options = tuple(document.get("options") or _names(bins))
        levels = tuple(document.get("levels") or _middles(bins) or _steps(options, midpoint))
        if len(levels) != len(options):
            raise ScaleError(
                f"levels: has {len(levels)} numbers for {len(options)} options; give one for each option"
            )
        return cls(
            name=name,
            title=document.get("title", name),
            measure=document.get("measure", ""),
            options=options,
            levels=levels,
            midpoint=midpoint if line or midpoint is None else levels[options.index(midpoint)],
            language=document.get("language", "English"),
            words=tuple((kind, tuple(words)) for kind, words in sorted(document.get("words", {}).items())),
            also=tuple(sorted(document.get("also", {}).items())),
            line=line,
        )

    def label(self, level: int) -> str:
        """Return the option that counts as ``level``."""
        return self.options[self.levels.index(level)]

    @property
    def labels(self) -> dict[int, str]:
        """The words of each level, lowest first."""
        return dict(zip(self.levels, self.options, strict=True))

    @property
    def ends(self) -> tuple[str, str]:
        """What the lowest and the highest answer mean, in the words of the scale."""
        return self.line.ends if self.line else (self.options[0], self.options[-1])

    @property
    def middle(self) -> float:
        """The number between the two sides of the scale: the midpoint, or halfway between its ends."""
        return (self.levels[0] + self.levels[-1]) / 2 if self.midpoint is None else float(self.midpoint)

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """On which side of the scale each option is: -1 the lower, 1 the upper, 0 neither (the midpoint)."""
        return tuple((level > self.middle) - (level < self.middle) for level in self.levels)

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The option that each number names, where every option is a number or begins with one of its own."""
        matches = [NUMBERED.match(normalise(option)) for option in self.options if self.line is None]
        numbers = {int(match[1]): i for i, match in enumerate(matches) if match}
        return numbers if len(numbers) == len(self.options) else {}

    @cached_property
    def letters(self) -> dict[str, int]:
        """The option that each letter names, where every option begins with one of its own."""
        matches = [LETTERED.match(normalise(option)) for option in self.options if self.line is None]
        letters = {match[1]: i for i, match in enumerate(matches) if match}
        return letters if len(letters) == len(self.options) else {}

    @property
    def is_numeric(self) -> bool:
        """Whether answers are numbers: on a number line, or because every option has its own."""
        return self.line is not None or bool(self.numbers)

    def level_of_number(self, number: float) -> int | None:
        """Return the level of ``number`` on a number line, or of the option with this number; ``None`` for no level."""
        if self.line is None:
            option = self.numbers.get(int(number)) if number == int(number) else None
            return None if option is None else self.levels[option]
        if not self.line.lowest <= number <= self.line.highest:
            return None
        last = [end for _, end in self.line.bins(len(self.options))]
        # Half a number rounds up, as people round.
        return self.levels[bisect.bisect_left(last, math.floor(number + 0.5))]

    def with_bins(self, count: int) -> Self:
        """Return this number line with its numbers in ``count`` bins."""
        bins = self.line.bins(count) if self.line else []
        return replace(self, options=_names(bins), levels=_middles(bins))


def _names(bins: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(str(a) if a == b else f"{a} to {b}" for a, b in bins)


def _middles(bins: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    return tuple((a + b) // 2 for a, b in bins)


def _steps(options: Sequence[str], midpoint: str | None) -> Iterable[int]:
    """Return levels for options whose file states none."""
    if midpoint is not None:
        middle = options.index(midpoint)
        return range(-middle, len(options) - middle)
    half, odd = divmod(len(options), 2)
    # Steps from the middle leave out 0, which an odd number of options cannot.
    return range(1, len(options) + 1) if odd else (*range(-half, 0), *range(1, half + 1))


# --- Checks of a file


def _check(document: Any) -> None:
    """Raise `ScaleError` for the first thing that no scale has."""
    _check_keys("the whole file", document, _KEYS)
    options, line, levels, midpoint = map(document.get, ("options", "line", "levels", "midpoint"))
    if (options is None) == (line is None):
        raise ScaleError("options: state the options, or a number line under 'line'; one of the two")
    if line is not None:
        _check_line(line)
        if midpoint is not None and not (_whole(midpoint) and line["lowest"] <= midpoint <= line["highest"]):
            allowed = f"allowed: {line['lowest']} to {line['highest']}"
            raise ScaleError(f"midpoint: {midpoint!r} is not a number of the line; {allowed}")
    else:
        _check_texts("options", options, 2, MOST_OPTIONS)
        if midpoint is not None and midpoint not in options:
            raise ScaleError(f"midpoint: {midpoint!r} is not an option; {_allowed(midpoint, options)}")
    if levels is not None and not (isinstance(levels, list | tuple) and all(map(_whole, levels))):
        raise ScaleError(f"levels: {levels!r} is not a list of whole numbers; give one for each option")
    if levels and sorted(set(levels)) != list(levels):
        raise ScaleError(f"levels: {list(levels)} do not rise; put each above the last")
    for key in ("title", "measure", "language"):
        _check_texts(key, [document.get(key, "text")], 1)
    also = document.get("also", {})
    if not isinstance(also, Mapping):
        raise ScaleError(f"also: {also!r} is not a mapping of texts to options")
    _check_texts("also", list(also), 0)
    for text, option in also.items():
        if option not in (options or ()):
            raise ScaleError(f"also.{text}: {option!r} is not an option; {_allowed(option, options or ())}")
    words = document.get("words", {})
    _check_keys("words", words, WORD_KINDS)
    for kind, of_kind in words.items():
        _check_texts(f"words.{kind}", of_kind, 1)


def _check_line(line: Any) -> None:
    _check_keys("line", line, _LINE_KEYS)
    for key in ("lowest", "highest"):
        if not _whole(line.get(key)):
            raise ScaleError(f"line.{key}: {line.get(key)!r} is not a whole number")
    if not line["lowest"] < line["highest"]:
        raise ScaleError(
            f"line: lowest is {line['lowest']}, highest is {line['highest']}; put the lower number under 'lowest'"
        )
    _check_texts("line.ends", line.get("ends"), 2, 2)
    numbers, bins = line["highest"] - line["lowest"] + 1, line.get("bins")
    most = min(numbers, MOST_OPTIONS)
    if bins is not None and not (_whole(bins) and 2 <= bins <= most):
        raise ScaleError(
            f"line.bins: {bins!r} bins of {numbers} numbers; allowed: a whole number from 2 to {most}"
        )


def _check_keys(key: str, given: Any, allowed: Sequence[str]) -> None:
    if not isinstance(given, Mapping):
        raise ScaleError(f"{key}: {given!r} is not a mapping of keys to values; {_allowed(given, allowed)}")
    for name in given:
        if name not in allowed:
            raise ScaleError(f"{key}: there is no key {name!r} here; {_allowed(name, allowed)}")


def _check_texts(key: str, given: Any, least: int, most: int | None = None) -> None:
    if not isinstance(given, list | tuple) or len(given) < least or len(given) > (most or len(given)):
        allowed = f"{least}" if most == least else f"{least} to {most}" if most else f"at least {least}"
        raise ScaleError(f"{key}: {given!r} is not a list of {allowed} texts")
    for text in given:
        if not isinstance(text, str) or not text.strip():  # YAML reads yes and 1 as no texts
            raise ScaleError(f"{key}: {text!r} is not a text; put it in quotes")
    if len(set(given)) < len(given):
        raise ScaleError(f"{key}: a text appears twice in {list(given)}; keep one")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _allowed(given: object, names: Iterable[str]) -> str:
    """Return what is allowed, and the name that is nearest to what is given."""
    names = list(names)
    near = difflib.get_close_matches(str(given), names, n=1)
    return f"allowed: {', '.join(names)}" + (f"; did you mean {near[0]!r}?" if near else "")
