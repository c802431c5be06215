"""What a flow needs to hold a norm."""

from collections.abc import Mapping
from typing import NamedTuple

from cinorms.core.labels import percent
from rewordings import Consensus, Majority, Rule


class Thresholds(NamedTuple):
    """What a flow needs to hold a norm.

    ``t_val``: fewest valid answers (a flow needs one in any case). ``t_maj``: majority, a share of the valid answers in
    (0, 1], or ``"plurality"`` for none. ``consensus``: how the majority is counted, and the one that the norms were
    assessed under (`assess`).
    """

    t_val: int
    t_maj: Majority
    consensus: Consensus

    @property
    def rule(self) -> Rule:
        """The rule that these thresholds state."""
        return Rule(self.t_val, self.t_maj, self.consensus)


def majority(t_maj: str | float) -> str:
    """Return a majority threshold in words: plurality, or the share that must agree."""
    return "plurality" if t_maj == "plurality" else percent(float(t_maj))


def norm_needs(t_val: Mapping[str, int], t_maj: Majority) -> str:
    """Return in words what a norm needs; ``t_val`` has the valid answers that it needs, by model."""
    needed = {model: max(n, 1) for model, n in t_val.items()}
    numbers = list(needed.values())
    usual = max(numbers, key=numbers.count)
    others = ", ".join(f"{n} for {model}" for model, n in needed.items() if n != usual)
    least = f"at least {usual:,} valid answer{'' if usual == 1 else 's'}" + (f" ({others})" if others else "")
    if t_maj == "plurality":
        return f"{least}; it is the level with the most answers, majority or not"
    return f"{least}; at least {percent(t_maj)} of them must agree"
