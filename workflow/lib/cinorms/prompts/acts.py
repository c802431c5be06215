"""Prompts that ask for an action: the instruction and the tools in one place, what was seen in another."""

from __future__ import annotations

from cinorms.prompts.orders import orders_of
from cinorms.vignettes.agent_files import steps_of

#: The place of what was seen, in a template that asks for an action.
SEEN = "{seen}"


def asks_for_action(template: str) -> bool:
    """Tell whether a template asks for an action, not for an answer on a scale."""
    return SEEN in template


def in_order(trajectory: str, order_code: int, n_options: int) -> tuple[str, str]:
    """Return instruction and tools of a trajectory, and what was seen in the order with this code (see `Orders`).

    The steps are put into as many runs of neighbours as the orders have options, and the runs into the order: 0 keeps
    it.
    """
    head, steps = steps_of(trajectory)
    order = orders_of(n_options).shown[order_code].tolist()
    runs = [
        steps[len(steps) * run // n_options : len(steps) * (run + 1) // n_options] for run in range(n_options)
    ]
    return head, "\n\n".join(step for run in order for step in runs[run])
