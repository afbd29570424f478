"""What a policy did about a change of an action's signals, as far as its state tells.

Some policies keep hypotheses "the law of this action has been the same since round t", each with a
weight; some restart, and know since when. Others have a window, or never forget.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from foretell.policies.parts.run_length import RunLengths
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.types import Floats, Ints

FOLLOWS = 0.5
"""A change is followed when what came before it has less weight than this."""


class Memory(NamedTuple):
    """Since when a policy remembers each action: hypotheses with their weights."""

    start: Ints
    """(actions, hypotheses): rounds of the campaign; what began in an imported history, began with
    the campaign."""
    weight: Floats
    """(actions, hypotheses)"""
    gradual: bool
    """Whether the weights say how sure the policy is."""


class Reaction(NamedTuple):
    """What a policy remembers of an action after a change."""

    round: int
    """The round since which it remembers it, by the likeliest of its hypotheses."""
    weight: float
    """The weight of the hypotheses that begin at the change, or after it."""

    @property
    def followed(self) -> bool:
        """Whether the policy has left behind what was before the change."""
        return self.weight > FOLLOWS


def memory_of(copy: CampaignCopy) -> Memory | None:
    """Return what a policy's state says about changes; None where it says nothing."""
    for part in _parts(copy.state):
        if isinstance(part, RunLengths):
            in_use = np.arange(part.weight.shape[1]) < part.used[:, None]
            weight = np.where(in_use, part.weight, 0.0)
            return Memory(_own_rounds(copy, part.start), weight, gradual=True)
        since = getattr(part, "since", None)
        if isinstance(since, np.ndarray) and since.ndim == 1:
            start = _own_rounds(copy, since[:, None])
            return Memory(start, np.ones(start.shape), gradual=False)
    return None


def _own_rounds(copy: CampaignCopy, rounds: Ints) -> Ints:
    """Return rounds of the policy as rounds of the campaign."""
    imported = sum(one.decisions for one in copy.config.history)
    return np.maximum(rounds - imported, 0)


def _parts(state: Any) -> Iterator[Any]:
    """Return a state and the states in it."""
    yield state
    for value in state:
        if isinstance(value, tuple):
            yield from _parts(value)


def reaction(memory: Memory, action: int, changed: int) -> Reaction:
    """Return how a policy remembers an action whose law changed at a round."""
    start, weight = memory.start[action], memory.weight[action]
    after = start >= changed
    likeliest = int(np.where(after, weight, -1.0).argmax() if after.any() else weight.argmax())
    total = float(weight.sum())
    share = float(weight[after].sum()) / total if total > 0 else 0.0
    return Reaction(int(start[likeliest]), min(1.0, share))
