# The gates that the study states, and the input functions of their rules.
from cinorms.gate.of_study import gates_of


def get_gates():
    """Return the gates of the study by name, or end with one message."""
    try:
        return gates_of(STUDY)
    except CinormsError as error:
        refuse(error)


GATES = get_gates()


def get_gate_made(wildcards):
    """Return what a gate reads of this study."""
    return GATES[wildcards.gate].made


def get_gate_found(wildcards):
    """Return what a gate reads of other studies, and its policy."""
    return [local(file) for file in GATES[wildcards.gate].found]


def get_gate_sides(wildcards):
    """Return base, new and the policy of a gate as plain values."""
    gate = GATES[wildcards.gate]
    sides = {
        name: [str(part) for part in getattr(gate, name)] for name in ("base", "new")
    }
    return {**sides, "policy": gate.policy}
