"""Answer scales: five options each, valued -2 to 2."""

from __future__ import annotations

from dataclasses import dataclass

#: The value of each option, lowest first; also the only values a level can have.
LEVELS = (-2, -1, 0, 1, 2)


@dataclass(frozen=True)
class Scale:
    """Five answer options, lowest first; option ``i`` has the value ``LEVELS[i]``."""

    name: str
    options: tuple[str, ...]

    def label(self, level: int) -> str:
        """Return the option that has the value ``level``."""
        return self.options[LEVELS.index(level)]


SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            "acceptability",
            (
                "strongly unacceptable",
                "somewhat unacceptable",
                "neutral",
                "somewhat acceptable",
                "strongly acceptable",
            ),
        ),
        Scale(
            "agreement",
            ("strongly disagree", "somewhat disagree", "neutral", "somewhat agree", "strongly agree"),
        ),
    )
}
