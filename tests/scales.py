"""The papers' scales, and how their options are ordered, for tests and benchmarks."""

from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER, Scale, papers_scale
from cinorms.prompts.orders import orders_of

ACCEPTABILITY, AGREEMENT = papers_scale("acceptability"), papers_scale("agreement")
LEVELS = ACCEPTABILITY.levels
ORDERS, SHOWN = orders_of(5).names, orders_of(5).shown


def shipped(name: str) -> Scale:
    """Return a scale of resources/scales."""
    return load_scale(FOLDER / f"{name}.yaml")
