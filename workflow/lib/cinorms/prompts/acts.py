"""What tells a template that asks for an action from one that asks for an answer."""

#: The place of what was seen, in a template that asks for an action; its other one has instruction and tools.
SEEN = "{seen}"


def asks_for_action(template: str) -> bool:
    """Tell whether a template asks for an action, not for an answer on a scale."""
    return SEEN in template
