"""What a pickle costs to read, counted before it is read: its reader trusts the numbers that are in it."""

from __future__ import annotations

import pickletools

from cinorms.core.errors import DataError

#: Most instructions of a pickle; the published ones have up to 1,499,499. One makes at most some 250 bytes.
MAX_OPCODES = 5_000_000
#: Most tuples of a pickle; the published ones have up to 139. Hashing tuples in tuples overflows the C stack.
MAX_TUPLES = 10_000

_PUTS = ("PUT", "BINPUT", "LONG_BINPUT")


def check_opcodes(pickled: bytes) -> None:
    """Raise ``DataError`` for a pickle that could take much more memory than its bytes.

    An honest pickle numbers what it remembers 0, 1, 2, ...: the reader reserves memory for every smaller number.
    """
    remembered = tuples = 0
    for count, (opcode, argument, _) in enumerate(pickletools.genops(pickled)):
        tuples += opcode.name.startswith("TUPLE")
        if count >= MAX_OPCODES or tuples > MAX_TUPLES:
            raise DataError("pickle refused: it has more instructions than any published frame")
        if opcode.name in _PUTS:
            if int(argument or 0) > remembered:
                raise DataError(
                    f"pickle refused: it remembers thing {remembered} under the number {argument}; fetch the file again"
                )
            remembered += 1
        elif opcode.name == "MEMOIZE":
            remembered += 1
