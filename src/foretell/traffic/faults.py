"""What goes wrong between a product and the server: events twice, late, or not at all."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from foretell.errors import InvalidInput

Fate = Literal["timely", "late", "lost"]

MAX_COPY_DELAY = 20
"""Rounds after which the second copy of an event is sent at the latest."""


class Faults(NamedTuple):
    """The shares of events that come twice, after their window, or never."""

    duplicates: float = 0.0
    late: float = 0.0
    lost: float = 0.0

    def check(self) -> None:
        """Raise InvalidInput for shares outside of [0, 1]."""
        for name, share in zip(self._fields, self, strict=True):
            if not 0.0 <= share <= 1.0:
                raise InvalidInput(f"the share of {name} events lies in [0, 1], got {share}")
        if self.late + self.lost > 1.0:
            raise InvalidInput(
                f"an event is late or lost, not both: the shares {self.late} and {self.lost} "
                f"must not add up to more than 1"
            )

    def fate(self, chance: np.random.Generator) -> Fate:
        """Draw whether an event is sent in time, late or never."""
        drawn = chance.random()
        if drawn < self.lost:
            return "lost"
        return "late" if drawn < self.lost + self.late else "timely"

    def twice(self, chance: np.random.Generator) -> bool:
        """Draw whether something is sent twice."""
        return bool(chance.random() < self.duplicates)


def copy_delay(chance: np.random.Generator) -> int:
    """Draw after how many rounds a second copy comes: often none, so in the same batch."""
    return int(chance.integers(MAX_COPY_DELAY + 1)) * int(chance.integers(2))
