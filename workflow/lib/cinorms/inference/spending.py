"""What a study spends at paid endpoints, and the cap that stops it before it spends more.

Jobs of one study run at the same time. Each takes money from the cap in advance, through one small file per
job in ``responses/.spending/``, and returns what it did not need when it ends. Money that a killed job had
taken counts as spent: its requests may have been answered.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError, EngineError
from cinorms.core.files import write_whole

#: Share of the cap that a job takes at a time.
SHARE = 0.01


class CapReached(EngineError):
    """The next request could exceed the cap."""


class Spending:
    """The money of one job; all amounts in dollars."""

    def __init__(
        self,
        folder: Path,
        job: str,
        cap: float | None,
        rates: Mapping[str, float],
        model: str,
        discount: float = 0,
    ) -> None:
        """Begin to count; raise ``ConfigError`` where there is a cap and the model has no price."""
        names = ("usd_per_million_input", "usd_per_million_output")
        if cap is not None and not all(name in rates for name in names):
            raise ConfigError(
                f"max_cost_usd: {cap:g} needs a price of model {model!r}; add rates.{names[0]} and "
                f"rates.{names[1]} to its entry in config/models.yaml (0 for a server of your own)"
            )
        self.priced = all(name in rates for name in names)
        self._input, self._output = (rates.get(name, 0.0) / 1e6 * (1 - discount) for name in names)
        self.cap = cap
        self.spent = 0.0
        self._under_way = 0.0
        self._taken = 0.0
        self._folder = folder
        self._path = folder / f"{job}.json"
        self._before = 0.0
        if cap is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._before = _usd(self._path)

    def price(self, input_tokens: float, output_tokens: float) -> float:
        """Return what so many tokens cost."""
        return self._input * input_tokens + self._output * output_tokens

    def reserve(self, usd: float) -> None:
        """Set aside what a request costs at most; raise ``CapReached`` where that could exceed the cap."""
        if self.cap is not None:
            short = self.spent + self._under_way + usd - self._taken
            if short > 1e-12:
                self._take(short)
        self._under_way += usd

    def settle(self, reserved: float, usd: float) -> None:
        """Note that a request for which ``reserved`` was set aside has cost ``usd``."""
        self._under_way -= reserved
        self.spent += usd

    def adopt(self, usd: float) -> float:
        """Take over what an earlier job of this shard had reserved, and return how much of it there is."""
        amount = min(usd, self._before)
        self._before -= amount
        self._taken += amount
        self._under_way += amount
        return amount

    def left(self) -> float:
        """Return what can still be reserved, infinite without a cap."""
        if self.cap is None:
            return float("inf")
        with self._ledger() as others:
            return self.cap - others - self._before - self.spent - self._under_way

    def close(self) -> None:
        """Give back what was taken and not spent."""
        if self.cap is not None:
            with self._ledger():
                self._taken = self.spent + max(0.0, self._under_way)
                self._write()

    def _take(self, short: float) -> None:
        assert self.cap is not None
        with self._ledger() as others:
            left = self.cap - others - self._before - self._taken
            if short > left + 1e-12:
                spent = self.cap - left
                raise CapReached(
                    f"the next request could exceed max_cost_usd ({self.cap:g}): it may cost {short:.6f}, spent so "
                    f"far: {spent:.4f}. Every response so far is in the journal; raise max_cost_usd and run again "
                    "to ask the rest"
                )
            self._taken += min(left, max(short, SHARE * self.cap))
            self._write()

    def _write(self) -> None:
        write_whole(self._path, json.dumps({"usd": self._before + self._taken}).encode())

    def _ledger(self) -> _Ledger:
        return _Ledger(self._folder, self._path)


class _Ledger:
    """Holds the folder's lock; entering returns what the other jobs have taken."""

    def __init__(self, folder: Path, own: Path) -> None:
        self._folder, self._own = folder, own

    def __enter__(self) -> float:
        self._handle = (self._folder / "lock").open("ab")
        fcntl.lockf(self._handle, fcntl.LOCK_EX)
        return sum(_usd(path) for path in self._folder.glob("*.json") if path != self._own)

    def __exit__(self, *error: object) -> None:
        self._handle.close()


def _usd(path: Path) -> float:
    """Return what a job has taken; 0 where it has no file yet."""
    if not path.exists():
        return 0.0
    found: Any = json.loads(path.read_bytes())
    return float(found["usd"])


def spent_in(folder: Path) -> float | None:
    """Return what the jobs of a study have taken under a cap, or None where there was none."""
    paths = sorted(folder.glob("*.json"))
    return sum(_usd(path) for path in paths) if paths else None
