"""Decisions by when they were made: how many of them are settled, and how many are open."""

from __future__ import annotations

from typing import NamedTuple

from foretell.service.model.stretches import DECISIONS, SECOND, TRAFFIC, VOIDS
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.words import day_and_time

PARTS = 4
"""Into so many parts the last reward window is divided, about: they begin with a stretch."""
MINUTE, DAY = 60_000_000, 86_400_000_000
REWARDS = TRAFFIC.index("rewards")


class MadeBetween(NamedTuple):
    """The decisions that were made from one moment to another, without those never shown."""

    begin: int | None
    """In microseconds; None: the first decision of the campaign is among them."""
    end: int | None
    """In microseconds, not included; None: the last one is."""
    decisions: int
    settled: int
    label: str

    @property
    def open(self) -> int:
        """Those that wait for their reward."""
        return self.decisions - self.settled


def open_decisions(copy: CampaignCopy) -> list[MadeBetween]:
    """Return all decisions by when they were made, the latest first, without times that had none.

    Each part begins with a stretch, so that what is counted is what its label says.
    """
    stretches, now = copy.counters.stretches, copy.as_of
    if not len(stretches):
        return []
    window = copy.rules.stages[-1].window.length
    traffic = stretches.traffic[: len(stretches)].sum(axis=(1, 2))
    first = stretches.begin(0)
    found: list[MadeBetween] = []
    upper, end = len(stretches), None
    for part in range(1, PARTS + 2):
        edge = (now - part * window // PARTS) // stretches.length * stretches.length
        if edge == end and part <= PARTS:
            continue
        begin = edge if part <= PARTS and edge > first else None
        lower = 0 if begin is None else min(upper, (edge - first) // stretches.length)
        counts = traffic[lower:upper].sum(axis=0)
        shown = int(counts[DECISIONS] - counts[VOIDS])
        if shown:
            found.append(
                MadeBetween(begin, end, shown, int(counts[REWARDS]), _label(begin, end, now))
            )
        if begin is None:
            break
        upper, end = lower, edge
    return found


def _label(begin: int | None, end: int | None, now: int) -> str:
    if begin is None:
        return "all" if end is None else f"before {_moment(end, now)}"
    if end is None:
        return f"since {_moment(begin, now)}"
    until = _moment(end, now)
    same_day = begin // DAY == end // DAY
    return f"{_moment(begin, now)} to {until.rpartition(', ')[2] if same_day else until}"


def _moment(at: int, now: int) -> str:
    """Return a moment to the minute, or to the second where it is within one."""
    seconds = at % MINUTE // SECOND
    return day_and_time(at, now) + (f":{seconds:02d}" if seconds else "")
