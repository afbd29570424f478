"""What a campaign keeps to judge its signal: the test, what waits to enter it, usual pauses.

A reward enters the test when it is first settled, with the signal and the value that it then has;
what is corrected later changes the counts of the reports and not the test, which so stays one that
may be looked at at any time. Where silence becomes a reward, a decision that closes says nothing
while rewards do not come at all. So what closes is held until the next reward comes. If one was
overdue by then, what was held is left out for good: a broken job says nothing about a signal. So
is most of what closes before the first reward of all.

A refit puts all that came of decisions back into the order in which it came, and does the same
again, with rewards as they are by then. Evidence that was known before it stays: the record of the
refit holds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from foretell.service.model.events import CampaignConfig, Evidence
from foretell.service.model.pauses import PAUSES, Pauses
from foretell.service.model.refit_order import ALL, RefitOrder
from foretell.stats.signal_test import POOLED, WITHIN, SignalTest
from foretell.stats.verdict import DOUBTFUL, MISLEADING
from foretell.types import Floats, Ints

OVERDUE = 14.0
"""Rewards expected since the last one, from which on their absence is no chance: one in 10⁶."""
HELD = 256
"""Settled rewards that are held at most."""
WEIGHED_TOGETHER = 4
"""Batches of the test that are weighed at a time, which takes hardly longer than one alone."""
_VERDICTS = (
    ("doubtful_at", WITHIN, math.log(DOUBTFUL)),
    ("misleading_at", WITHIN, math.log(MISLEADING)),
    ("moves_at", POOLED, math.log(MISLEADING)),
)
_TIMES = tuple(name for name, _, _ in _VERDICTS)
"""When the evidence reached each verdict."""
_NUMBERS = ("closed", "left_out", *_TIMES)


class ValidityLedger:
    """The test of a campaign's signal, and what it takes to feed it."""

    def __init__(self, actions: int, signals: int) -> None:
        """Begin without rewards."""
        self._test = SignalTest(actions, signals)
        self.held: list[tuple[int, int, float]] = []
        """Action, signal and reward of decisions that closed since the last reward came."""
        self.expected = 0.0
        """Rewards that were to come meanwhile, by the signals of these decisions."""
        self.rewards, self.signals = Pauses(), Pauses()
        """When rewards came, and signals."""
        self.closed = 0
        """Decisions that have closed without a reward since the last one came."""
        self.left_out = 0
        """Settled rewards that are not in the test, because none came meanwhile."""
        self.doubtful_at = self.misleading_at = self.moves_at = -1
        """When the evidence first reached each verdict; −1: never."""
        self._filled: list[int] = []
        """When the batches of the test that are full, and not weighed yet, became so."""
        self._order: RefitOrder | None = None
        """Set during a refit, where decisions come in their order with all that came of each."""
        self._replaying = False
        """Whether what came is taken in order, during a refit."""

    @property
    def test(self) -> SignalTest:
        """The test, with all that was entered."""
        self._weigh()
        return self._test

    @property
    def usual_pause(self) -> int:
        """The longest pause between rewards that is nothing to speak of, in microseconds."""
        return self.rewards.usual

    def settle(self, now: int, action: int, signal: int, reward: float, *, silent: bool) -> None:
        """Take note of a reward, in [0, 1], that is settled for the first time.

        `silent` is whether it is what silence became.
        """
        if self._order is not None:
            self._order.settle(now, action, signal, reward, silent=silent)
            return
        self.closed += silent
        self.expected += self._test.means[signal]
        if self._overdue(self.expected, now):
            self.left_out += len(self.held) + 1
            self.held.clear()
            return
        self.held.append((action, signal, reward))
        self._end_if_full(now)

    def settle_all(
        self, now: list[int], rewards: list[tuple[int, int, float]], silent: list[int]
    ) -> None:
        """Take note of rewards that are settled between two that came, as `settle` does of each."""
        first = 0
        while first < len(rewards):
            end = first + HELD - len(self.held)
            some, at = rewards[first:end], now[first:end]
            expected, means = self.expected, self._test.means
            for _, signal, _ in some:
                expected += means[signal]
            if self._overdue(expected, at[-1]):
                for when, one, was in zip(at, some, silent[first:end], strict=True):
                    self.settle(when, *one, silent=bool(was))
            else:
                self.expected = expected
                self.closed += sum(silent[first:end])
                self.held += some
                self._end_if_full(at[-1])
            first = end

    def _end_if_full(self, now: int) -> None:
        """Enter what is held when that is as much as is held at most."""
        if len(self.held) == HELD:
            if self.rewards.last >= 0:
                self._enter_held(now)
            self.left_out += len(self.held)
            self.held.clear()

    def rewards_came(self, now: Sequence[int]) -> None:
        """Take note of rewards, in order: what has closed before the first is what it seemed."""
        if self._order is not None:
            self._order.rewards.extend(now)
            return
        if not self._overdue(self.expected, now[0]):
            self._enter_held(now[0])
        self.left_out += len(self.held)
        self.held.clear()
        self.expected, self.closed = 0.0, 0
        self.rewards.came_all(now)

    def signals_came(self, now: Sequence[int]) -> None:
        """Take note of signals, in order."""
        if self._order is not None:
            self._order.signals.extend(now)
        else:
            self.signals.came_all(now)

    def _overdue(self, expected: float, now: int) -> bool:
        return expected > OVERDUE and now - self.rewards.last > self.usual_pause

    def _enter_held(self, now: int) -> None:
        """Enter what is held into the test, which is weighed later, with more of it."""
        self._filled += [now] * self._test.fill(self.held)
        self.held.clear()
        if len(self._filled) >= WEIGHED_TOGETHER and not self._replaying:
            self._weigh()

    def _weigh(self) -> None:
        """Weigh what was entered, and note when the evidence reached a verdict.

        Whoever looks at the evidence lets it be weighed first: when that is makes no difference.
        """
        for now, peak in zip(self._filled, self._test.weigh(), strict=True):
            for name, kind, level in _VERDICTS:
                if getattr(self, name) < 0 and peak[kind] >= level:
                    setattr(self, name, now)
        self._filled.clear()

    def refit_up_to(self, decided_at: int) -> RefitOrder:
        """Go on with a refit, which reads a decision of this moment next.

        Returns what many things at a time may be added to, which came of decisions from there on.
        """
        if self._order is None:
            self._order = RefitOrder()
        order = self._order
        self._replay(order, decided_at)
        return order

    def end_refit(self) -> None:
        """End a refit: what is still waiting comes now."""
        if self._order is not None:
            self._replay(self._order, ALL)
        self._order = None

    def _replay(self, order: RefitOrder, until: int) -> None:
        """Take what came before a moment, in order, as if it came now."""
        self._order, self._replaying = None, True
        order.replay(self, until)
        self._order, self._replaying = order, False
        self._weigh()

    @property
    def evidence(self) -> Evidence:
        """The largest evidence so far, and when it reached each verdict."""
        within, pooled = self.test.peak.tolist()
        return Evidence(within, pooled, *(getattr(self, name) for name in _TIMES))

    def carry(self, known: Evidence) -> None:
        """Keep evidence that was known before a refit, and since when."""
        self.test.peak = np.maximum(self.test.peak, [known.within, known.pooled])
        for name in _TIMES:
            if getattr(known, name) >= 0:
                setattr(self, name, getattr(known, name))

    def grow(self, actions: int, signals: int) -> None:
        """Make room for more actions or signals."""
        self.test.grow(actions, signals)

    def copy(self) -> ValidityLedger:
        """Return a copy, which stays as it is while this goes on."""
        copied = ValidityLedger(self._test.actions, self._test.signals)
        copied.restore(self.arrays())
        return copied

    def arrays(self) -> dict[str, Floats | Ints]:
        """Return all that is known, by name."""
        test = self.test.arrays()
        numbers = [getattr(self, name) for name in _NUMBERS]
        pauses = self.rewards.numbers() + self.signals.numbers()
        return {
            "numbers": np.array(numbers, np.int64),
            "pauses": np.array(pauses, np.int64),
            "expected": np.array([self.expected]),
            "held": np.array(self.held, np.float64).reshape(-1, 3),
            **test,
        }

    def restore(self, arrays: dict[str, Floats | Ints]) -> None:
        """Take what `arrays` returned."""
        for name, value in zip(_NUMBERS, arrays["numbers"].tolist(), strict=True):
            setattr(self, name, value)
        pauses = arrays["pauses"].tolist()
        self.rewards.restore(pauses[: len(PAUSES)])
        self.signals.restore(pauses[len(PAUSES) :])
        self.expected = float(arrays["expected"][0])
        self.held = [(int(one[0]), int(one[1]), float(one[2])) for one in arrays["held"].tolist()]
        self.test.restore(arrays)


def evidence_over_refit(
    ledger: ValidityLedger, before: CampaignConfig, after: CampaignConfig
) -> Evidence | None:
    """Return the evidence that outlives a refit; None where a reward is another thing after it.

    Another policy or other windows are no reason to forget what was seen. Another range, default
    or meaning of silence is.
    """
    same = before.reward_range == after.reward_range and all(
        (old.default, old.silence == "unknown") == (new.default, new.silence == "unknown")
        for old, new in zip(before.stages, after.stages, strict=True)
    )
    return ledger.evidence if same else None
