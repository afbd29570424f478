"""Planted truths: campaigns of which it is known what their report ought to say.

Each is a world of the simulator. Where an action is clickbait, the world has more outcomes than the
campaign has signals: a download of this action and one of another are two outcomes, with a mean
reward each, and are reported as the same signal. That is what makes a signal misleading.

A campaign decides once a round. Signals come at once; a reward comes at a random time in the first
part of its window, and where there is none, silence becomes 0 when the window closes.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from foretell.protocol.fields import SILENT
from foretell.types import Floats
from foretell.worlds import Scenario
from foretell.worlds.theta_changes import ConstantTheta, ThetaLines
from foretell.worlds.world import Now, World

ExpectedVerdict: TypeAlias = Literal["valid", "doubtful", "misleading", "too early"]

ACTIONS = ("a", "b", "c")
SIGNALS = (SILENT, "click", "download")
LAWS = ((0.6, 0.25, 0.15), (0.15, 0.25, 0.6), (0.5, 0.3, 0.2))
"""What each action is answered with: `b` is downloaded most."""
THETA = (0.02, 0.3, 0.7)
"""The mean reward after each signal."""
ODD = 1
"""The action that may be clickbait."""
WINDOW = 100
"""Rounds after which silence is the reward 0."""
EARLY_SHARE = 0.8
"""Rewards come within this part of their window."""
SILENT_ROUNDS = 300
"""Rounds before the last settled one, from which on no reward comes, where rewards stop."""
HOLDOUT = 0.1
"""The share of decisions that are held out."""
SETTLED = 2000


class Truth(NamedTuple):
    """What is planted, and what is to be said."""

    verdict: ExpectedVerdict
    sentence: str
    """What is true, in words."""
    bait: float = 1.0
    """What the rewards of the action `b` are multiplied by."""
    drift: float = 0.0
    """By how much the share of theta that is left falls over the campaign."""
    change: bool = False
    """Whether the laws of the actions change places half-way."""
    stops: bool = False
    """Whether rewards stop before the end."""
    settled: int = SETTLED
    """Decisions that are settled at the end."""

    @property
    def rounds(self) -> int:
        """How many decisions there are."""
        return self.settled + WINDOW

    @property
    def change_at(self) -> int | None:
        """The round in which the laws change, if they do."""
        return self.settled // 2 if self.change else None

    @property
    def stops_at(self) -> int | None:
        """The round from which on no reward comes, if rewards stop."""
        return max(0, self.settled - SILENT_ROUNDS) if self.stops else None

    def scenario(self) -> Scenario:
        """Return the world; outcome `o` is reported as the signal `shown(o)`."""
        first = np.array(LAWS)
        laws = [self._outcomes(first), self._outcomes(np.roll(first, 1, axis=0))]
        theta = np.array(THETA)
        if self.bait != 1.0:
            theta = np.concatenate([theta, self.bait * theta])
        last = tuple((theta * (1.0 - self.drift)).tolist())
        drifts = ThetaLines(((self.rounds - 1, last),))
        segments: list[tuple[int, Any]] = [(0, laws[0])]
        if self.change_at is not None:
            segments.append((self.change_at, laws[1]))
        return Scenario(
            segments=segments,
            theta=theta,
            theta_changes=drifts if self.drift else ConstantTheta(),
            delay=WINDOW,
        )

    def _outcomes(self, laws: Floats) -> Floats:
        """Return (actions, outcomes): those of clickbait are outcomes of their own."""
        if self.bait == 1.0:
            return laws
        own = np.arange(len(laws))[:, None] == ODD
        return np.concatenate([np.where(own, 0.0, laws), np.where(own, laws, 0.0)], axis=1)

    def campaign(self) -> dict[str, Any]:
        """Return the fields of the campaign in which it is planted, without name and windows."""
        return {
            "actions": list(ACTIONS),
            "signals": list(SIGNALS),
            "holdout": HOLDOUT,
            "reward_name": "readings",
        }


def shown(outcome: int) -> int:
    """Return the signal that an outcome is reported as."""
    return outcome % len(SIGNALS)


def true_values(world: World, now: Now) -> Floats:
    """Return (actions,): what each action is worth in the current round."""
    values: Floats = world.laws[now.knot[0]] @ now.theta
    return values


TRUTHS = {
    "valid": Truth("valid", "what a signal means does not depend on the action"),
    "clickbait": Truth(
        "misleading", "readings after a signal of 'b' are a tenth of those of others", bait=0.1
    ),
    "drift": Truth(
        "doubtful", "the meaning of all signals falls by four fifths, for all actions", drift=0.8
    ),
    "change": Truth(
        "valid", "half-way the actions change what they are answered with", change=True
    ),
    "stopped": Truth("valid", "rewards stop, and the signal is what it was", stops=True),
    "little": Truth("too early", "the campaign has only begun", settled=90),
}
"""The truths that are to be told."""
WEAKER = Truth("misleading", "readings after a signal of 'b' are 70 % of those of others", bait=0.7)
"""Clickbait that takes longer to see."""
