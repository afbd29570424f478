"""What a benchmark returns, and how time is taken.

Other programs share the machine, so only ratios are trusted: the contestants take turns, each
turn is timed as CPU time of this process, and a ratio is the median over turns.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Measurement:
    """What was measured, and how it compares with its target: one row of a table."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None
    """None where there is no target."""
    value: float | None = None
    """The measured number, for out/bench.json."""
    score: float | None = None
    """How many times better than its target it is; below 1 it missed."""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return {True: "met", False: "missed", None: ""}[self.met]


@dataclass
class BenchmarkResult:
    """What one benchmark found."""

    title: str
    measurements: list[Measurement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """How long it took."""

    def add(self, what: str, measured: str, value: float | None = None) -> None:
        """Add a measurement without a target."""
        self.measurements.append(Measurement(what, measured, value=value))

    def at_least(self, what: str, value: float, target: float, unit: str = "x") -> None:
        """Add a measurement whose value must reach the target."""
        self.measurements.append(
            Measurement(
                what,
                f"{value:.3g}{unit}",
                f">= {target:g}{unit}",
                value >= target,
                value,
                value / target,
            )
        )

    def at_most(self, what: str, value: float, target: float, unit: str = "x") -> None:
        """Add a measurement whose value must not pass the target."""
        self.measurements.append(
            Measurement(
                what,
                f"{value:.3g}{unit}",
                f"<= {target:g}{unit}",
                value <= target,
                value,
                target / value if value > 0 else None,
            )
        )

    def must(self, what: str, measured: str, target: str, *, met: bool) -> None:
        """Add a measurement that is either so or not."""
        self.measurements.append(Measurement(what, measured, target, met))

    @property
    def met(self) -> bool:
        """Whether no target was missed."""
        return all(measurement.met is not False for measurement in self.measurements)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time that this process spends on `work`."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def in_turns(
    contestants: Mapping[str, Callable[[], Callable[[], object]]], turns: int
) -> dict[str, list[float]]:
    """Time the contestants one after the other, again and again: CPU seconds of each turn.

    A contestant prepares its turn, which is not timed, and returns the work that is.
    """
    for prepare in contestants.values():
        prepare()()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(turns):
        for name, prepare in contestants.items():
            seconds[name].append(cpu_seconds(prepare()))
    return seconds


def ratio(slower: list[float], faster: list[float]) -> float:
    """Return how many times faster the second is: the median over turns taken side by side."""
    return statistics.median(a / b for a, b in zip(slower, faster, strict=True))
