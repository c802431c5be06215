"""The command that asks, with short pauses between attempts, in a process of its own, to be killed."""

from cinorms.inference.ask import main

from .conftest import hurry

if __name__ == "__main__":
    hurry()
    main()
