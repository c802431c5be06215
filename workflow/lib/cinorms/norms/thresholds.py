"""What a flow needs to hold a norm."""

from typing import NamedTuple

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
