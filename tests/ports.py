"""A free port for a server that a test starts."""

import random
import socket

#: Below those that Linux gives to whoever connects (32768 and up): a server may need a minute before it binds its own.
PORTS = (15_000, 32_000)


def free_port() -> int:
    """Return a port of the loopback device that nobody listens on."""
    for port in random.sample(range(*PORTS), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("a hundred ports are taken")
