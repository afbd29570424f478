"""How fast this machine is, against the one that the targets of the service were set on.

A target in seconds of CPU is as hard as the machine is slow. What the empty handler of
`live_empty` takes for a request says how slow: it is our stack without our code. The table and its
verdicts stay as they are; this adds what a missed target would be at the other machine's speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.measure import BenchmarkResult, Measurement

TARGET_MACHINE = 65.0
"""Microseconds of CPU that the empty handler took for a request where the targets were set."""
EMPTY_HANDLER = "empty, CPU of the server a request"
"""The line of `live_decide` that is the yardstick."""
CPU_TIME = ("CPU", "longest turn of the event loop")
"""What the name of a line, or of its part, says of CPU time."""


def speed_notes(results: dict[str, BenchmarkResult]) -> list[str]:
    """Return how fast this machine is, and what it makes of missed CPU targets; none without it."""
    found = [
        row.value
        for result in results.values()
        for row in result.measurements
        if row.what == EMPTY_HANDLER and row.value
    ]
    if not found:
        return []
    speed = TARGET_MACHINE / found[0]
    there = f"{TARGET_MACHINE:.0f} µs on the machine that the targets were set on"
    here = f"the empty handler takes {found[0]:.0f} µs of CPU a request"
    notes = [f"Speed of this machine: {here}, {there}."]
    scaled = [
        f"{row.what}: {row.measured} would be {_scaled(row, speed)} ({row.target})"
        for result in results.values()
        for row in result.measurements
        if row.met is False and _is_cpu_time(row, result.title)
    ]
    if scaled:
        notes.append(
            f"Scaled by {speed:.2f}, which is a guess and no verdict: " + "; ".join(scaled) + "."
        )
    return notes


def _is_cpu_time(row: Measurement, title: str) -> bool:
    named = any(word in text for word in CPU_TIME for text in (row.what, title))
    return named and row.measured.endswith((" µs", " ms", " s"))


def _scaled(row: Measurement, speed: float) -> str:
    assert row.value is not None, "only a number can miss a target in seconds"
    unit = row.measured.rpartition(" ")[2]
    return f"{speed * row.value:.3g} {unit}"
