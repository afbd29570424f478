"""What a choice is drawn on: the folded state, and this process's decisions that are not folded.

Between a decision and the fold of its record other decisions are asked for. If they were drawn on
the folded state alone, a burst of them would all get the same action; so they are drawn on a copy
on which the decisions under way are played. The copy is never folded and never saved: `play` has no
inverse, and a decision whose record could not be written must leave no trace.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from foretell.policies.verbs import ignores, play
from foretell.service.model.campaign import Campaign

KEEP_FACTOR = 40
"""A copy is kept for so many times the time that it took: large states are slow to copy."""


class Overlay:
    """The state that the next decision of one campaign is drawn on."""

    def __init__(self, campaign: Campaign) -> None:
        """Begin with nothing under way."""
        self.campaign = campaign
        self.revision = 0
        """Changes whenever the state may be another one."""
        self.seat, self.seats = 0, 1
        """Which of the processes that decide this one is, and how many there are."""
        self._under_way: dict[int, int] = {}
        """By nonce, the action of each."""
        self._written: dict[int, int] = {}
        """By nonce, the seq of each whose record is durable."""
        self._copy: Any = None
        self.position = campaign.position
        """The position of the folded state that `state` has last returned, or copied."""
        self._keep_until = 0.0

    @property
    def t(self) -> int:
        """The round of the next decision, as far as this process knows.

        The others are taken to decide as often, each in its turn: so no two take the same round.
        """
        return self._rounds() + self.seat + self.seats * len(self._under_way)

    def _rounds(self) -> int:
        """Return how many rounds are folded: those of imported histories, and its own."""
        return self.campaign.imported + self.campaign.decided

    def state(self) -> Any:
        """Return the state with the decisions under way played on it; it is only read."""
        position = self.campaign.position
        if not self._under_way or ignores(play, self.campaign.served_state):
            self.position = position
            return self.campaign.served_state
        if self._copy is None or (
            position != self.position and time.perf_counter() >= self._keep_until
        ):
            began = time.perf_counter()
            self._copy, self.position = copied(self.campaign.served_state), position
            now = time.perf_counter()
            self._keep_until = now + KEEP_FACTOR * (now - began)
            for t, action in self.under_way():
                play(self._copy, t, action)
        return self._copy

    def under_way(self) -> list[tuple[int, int]]:
        """Return the decisions under way, each as its round and its action."""
        return list(enumerate(self._under_way.values(), self._rounds()))

    def add(self, nonce: int, action: int) -> None:
        """Play a decision that is under way."""
        if self._copy is not None:
            play(self._copy, self._rounds() + len(self._under_way), action)
        self._under_way[nonce] = action
        self.revision += 1

    def written(self, nonce: int, seq: int) -> None:
        """Note that the record of a decision is durable; the state may hold it by now."""
        if nonce in self._under_way:
            if seq < self.campaign.position:
                self.drop(nonce)
            else:
                self._written[nonce] = seq

    def folded(self, nonce: int) -> None:
        """Forget a decision that is under way no longer, because its record is folded."""
        self._under_way.pop(nonce, None)
        self._written.pop(nonce, None)
        if not self._under_way:
            self._copy = None
        self.revision += 1

    def changed(self) -> None:
        """Take note that the folded state is another one."""
        self.revision += 1

    def drop(self, nonce: int) -> None:
        """Take back a decision whose record was not written."""
        self._written.pop(nonce, None)
        if self._under_way.pop(nonce, None) is not None:
            self._copy = None
        self.revision += 1

    def replace(self, campaign: Campaign) -> None:
        """Go on with another state of the campaign, without the decisions that it holds."""
        self.campaign = campaign
        for nonce in [one for one, seq in self._written.items() if seq < campaign.position]:
            del self._under_way[nonce], self._written[nonce]
        self._copy = None
        self.revision += 1


def copied(state: Any) -> Any:
    """Return a state of its own with the same content.

    >>> from foretell.policies import Ucb
    >>> from foretell.policies.registry import start
    >>> from foretell.types import Problem
    >>> state = start(Ucb(), Problem(2, 2))
    >>> copied(state).rewards.counts is state.rewards.counts
    False
    """
    return type(state)(
        *(
            copied(value)
            if hasattr(value, "_fields")
            else value.copy()
            if isinstance(value, np.ndarray)
            else value
            for value in state
        )
    )
