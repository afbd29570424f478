"""Which part of a campaign's time a report is about, and in periods of which length.

Counts are kept by stretches of time. A period is one of them or several; so a period that is asked
for is made as long as what is kept, or as the next length that a stretch may have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from foretell.service.model.errors import BadParameter
from foretell.service.model.outcome import Rules
from foretell.service.model.stretches import DECISIONS, SECOND, VOIDS, Stretches, longer
from foretell.service.model.timestamps import format_timestamp, parse_timestamp
from foretell.types import Ints


class Asked(Struct, frozen=True):
    """What a request asks for, in microseconds; None: all of it."""

    begin: int | None = None
    end: int | None = None
    width: int | None = None

    @classmethod
    def of(cls, begin: str | None, end: str | None, width: int | None) -> Asked:
        """Read the parameters `from`, `to` and `width`, or raise `BadParameter`."""
        first, last = _moment("from", begin), _moment("to", end)
        if first is not None and last is not None and first >= last:
            raise BadParameter(
                f"from must be before to, got {begin} and {end}: swap them", field="from"
            )
        return cls(first, last, None if width is None else width * SECOND)


EVERYTHING = Asked()


class Periods(NamedTuple):
    """Periods of equal length, each with the stretches that it is made of."""

    length: int
    """In microseconds."""
    begins: list[int]
    """When each begins, in microseconds."""
    slices: list[slice]
    """The stretches of each."""

    @classmethod
    def of(cls, stretches: Stretches, asked: Asked) -> Periods:
        """Return the periods that a request asks for: all that it touches, with decisions."""
        length, wanted = stretches.length, asked.width or 0
        if wanted > length:
            length = longer(stretches.length, wanted)
        each = length // stretches.length
        begins, slices = [], []
        first = stretches.begin(0) // length if len(stretches) else 0
        offset = stretches.first // stretches.length % each if len(stretches) else 0
        for index in range(-(-(len(stretches) + offset) // each)):
            begin = (first + index) * length
            if asked.end is not None and begin >= asked.end:
                break
            if asked.begin is None or begin + length > asked.begin:
                begins.append(begin)
                slices.append(slice(max(0, index * each - offset), (index + 1) * each - offset))
        return cls(length, begins, slices)

    def total(self, counts: Ints) -> Ints:
        """Return the counts of each period, from those of each stretch."""
        joined = np.zeros((len(self.slices), *counts.shape[1:]), np.int64)
        for index, one in enumerate(self.slices):
            joined[index] = counts[one].sum(axis=0)
        return joined

    @property
    def at(self) -> list[str]:
        """When each begins."""
        return [format_timestamp(begin) for begin in self.begins]


def mature(periods: Periods, rules: Rules, stage: int, traffic: Ints, now: int) -> list[bool]:
    """Return for each period whether it is over, and no signal (stage 0) or reward is awaited.

    `traffic` is (periods, `TRAFFIC`). Where silence is unknown, what has not come by the end of the
    window is not waited for.
    """
    settled = traffic[:, 2 if stage == 0 else 3]
    still_open = (traffic[:, DECISIONS] - traffic[:, VOIDS] - settled).tolist()
    found = []
    for begin, count in zip(periods.begins, still_open, strict=True):
        end = begin + periods.length
        found.append(end <= now and (count == 0 or rules.due(stage, end) <= now))
    return found


def _moment(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    found = parse_timestamp(text)
    if found is None:
        raise BadParameter(
            f"{name} must be a time with its zone, as in 2026-11-05T17:00:00Z, got {text!r}: "
            f"write it so (in an address, + is %2B)",
            field=name,
        )
    return found
