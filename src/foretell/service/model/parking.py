"""Parked feedback is bounded: whoever may send feedback must not fill the log with what waits.

A correction whose reward has not come is parked, and so is feedback about a decision that the log
does not hold. No more is taken in of that when there is much of it, about one decision or in all.
Rewards, signals and voids of decisions that are here are never parked, and a correction is not once
its reward is here: so nothing that is parked keeps a true one out for good.
"""

from __future__ import annotations

from collections import Counter, deque

from foretell.service.model.campaign import Campaign
from foretell.service.model.errors import Conflict

PARKED_PER_DECISION = 5_000
"""Events that are parked about one decision at most."""
PARKED_PER_CAMPAIGN = 100_000
"""Events that are parked in one campaign at most."""


class Parking:
    """Room for what is parked in one campaign: what is folded counts, and what is not yet.

    A place is taken before the event is written, so that many requests at once cannot take more.
    """

    def __init__(self) -> None:
        """Begin with nothing on its way."""
        self._coming: Counter[int] = Counter()
        """For each decision, the places taken by what is not folded yet."""
        self._taken = 0
        """The sum of these."""
        self._written: deque[tuple[int, int]] = deque()
        """Those of them that are written: the seq, the decision."""

    def check_campaign(self, campaign: Campaign) -> None:
        """Raise `Conflict` where the campaign has no place: then nothing is read for the event."""
        while self._written and self._written[0][0] < campaign.position:
            _, number = self._written.popleft()
            self._give_back(number)
        if campaign.counters.parked + self._taken >= PARKED_PER_CAMPAIGN:
            raise Conflict(_full(f"{PARKED_PER_CAMPAIGN:,} events are parked in this campaign"))

    def take(self, campaign: Campaign, decision: int, folded: int) -> None:
        """Take a place, or raise `Conflict`; `folded` is how much is parked about the decision."""
        self.check_campaign(campaign)
        if folded + self._coming[decision] >= PARKED_PER_DECISION:
            raise Conflict(_full(f"{PARKED_PER_DECISION:,} events are parked about this decision"))
        self._coming[decision] += 1
        self._taken += 1

    def settle(self, decision: int, seq: int | None) -> None:
        """Note that an event with a place was written, or, without a seq, that it was not."""
        if seq is None:
            self._give_back(decision)
        else:
            self._written.append((seq, decision))

    def _give_back(self, decision: int) -> None:
        self._taken -= 1
        self._coming[decision] -= 1
        if self._coming[decision] <= 0:
            del self._coming[decision]


def _full(why: str) -> str:
    return (
        f"{why} already, and that is the most: nothing was stored of this event, "
        f"send it again once what it waits for is here"
    )
