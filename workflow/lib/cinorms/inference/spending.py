"""What a study spends at paid endpoints, and the cap that stops it before it spends more.

Jobs of one study run at the same time. Each takes money from the cap in advance, through one small file per
job in ``responses/.spending/``, and returns what it did not need when it ends. Money that a killed job had
taken counts as spent: its requests may have been answered. A file that cannot be read stops all spending under the cap:
nobody knows how much of it is left.
"""

import fcntl
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError, EngineError
from cinorms.core.files import write_whole
from cinorms.inference.journal_files import NO_LOCKS, RECORD, explained, own_files

#: Share of the cap that a job takes at a time.
SHARE = 0.01
#: More dollars than anybody spends: a larger amount is a damaged one.
MOST = 1e12
#: What is written here, in a message.
_WHAT = "what is spent"
_OWN = re.compile(rf"{RECORD.pattern}|lock")


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
    ) -> None:
        """Begin to count; raise ``ConfigError`` where there is a cap and the model has no price."""
        names = ("usd_per_million_input", "usd_per_million_output")
        if cap is not None and not all(name in rates for name in names):
            raise ConfigError(
                f"max_cost_usd: {cap:g} needs a price of model {model!r}; add rates.{names[0]} and "
                f"rates.{names[1]} to its entry in config/models.yaml (0 for a server of your own)"
            )
        self.priced = all(name in rates for name in names)
        self._input, self._output = (rates.get(name, 0.0) / 1e6 for name in names)
        self.cap = cap
        self.spent = 0.0
        self._under_way = 0.0
        self._taken = 0.0
        self._folder = folder
        self._path = folder / f"{job}.json"
        self._before = 0.0
        if cap is not None:
            with explained(folder, _WHAT):
                folder.mkdir(parents=True, exist_ok=True)
            spent_in(folder)  # refused at once where it cannot be read
            self._before = _usd(self._path)

    def price(self, input_tokens: float, output_tokens: float) -> float:
        """Return what so many tokens cost."""
        return self._input * input_tokens + self._output * output_tokens

    def reserve(self, usd: float) -> None:
        """Set aside what a request costs at most; raise ``CapReached`` where that could exceed the cap."""
        if self.cap is not None:
            short = self.spent + self._under_way + usd - self._taken
            if short > 1e-12:
                with self._ledger():
                    left = self.cap - self._others() - self._before - self._taken
                    if short > left + 1e-12:
                        raise CapReached(
                            f"the next request could exceed max_cost_usd ({self.cap:g}): it may cost {short:.6f}, "
                            f"spent so far: {self.cap - left:.4f}. Every response so far is in the journal; raise "
                            "max_cost_usd and run again to ask the rest"
                        )
                    self._taken += min(left, max(short, SHARE * self.cap))
                    self._write()
        self._under_way += usd

    def settle(self, reserved: float, usd: float) -> None:
        """Note that a request for which ``reserved`` was set aside has cost ``usd``."""
        self._under_way -= reserved
        self.spent += usd

    def close(self) -> None:
        """Give back what was taken and not spent."""
        if self.cap is not None:
            with self._ledger():
                self._taken = self.spent + max(0.0, self._under_way)
                self._write()

    def _write(self) -> None:
        write_whole(self._path, json.dumps({"usd": self._before + self._taken}).encode())

    @contextmanager
    def _ledger(self) -> Iterator[None]:
        """Hold the folder's lock."""
        with explained(self._folder, _WHAT), (self._folder / "lock").open("ab") as handle:
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                raise EngineError(
                    f"{self._folder}: this file system has no locks, so jobs cannot keep to one max_cost_usd. Put "
                    "results on one that has locks (--directory), or leave max_cost_usd out"
                ) from error
            yield

    def _others(self) -> float:
        """Return what the other jobs have taken."""
        return sum(_usd(path) for path in _files(self._folder) if path != self._path)


def as_amount(value: Any) -> float:
    """Return ``value`` in a file as an amount; raise ``ValueError`` for what no amount can be: NaN, -1, true, "1"."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        raise ValueError(f"{value!r} is no amount")
    return float(value)


def _files(folder: Path) -> list[Path]:
    return [path for path in own_files(folder, _OWN) if path.name != "lock"]


def _usd(path: Path) -> float:
    """Return what a job has taken; 0 where it has no file yet."""
    try:
        return as_amount(json.loads(path.read_bytes())["usd"])
    except FileNotFoundError:
        return 0.0
    except (OSError, ValueError, TypeError, KeyError):
        raise EngineError(
            f"{path}: states no amount, so what is left of max_cost_usd is not known and nothing more is spent.\n"
            f'Write {{"usd": 1.5}} into it (at least the cost that `make status` shows for this model) and run again'
        ) from None


def spent_in(folder: Path) -> float | None:
    """Return what the jobs of a study have taken under a cap, or None where there was none.

    Raises ``EngineError`` where a file does not tell.
    """
    paths = _files(folder)
    return sum(map(_usd, paths)) if paths else None
