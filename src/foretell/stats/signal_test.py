"""Can the signal be trusted? Evidence that may be looked at after every reward.

The model says that a reward depends on the signal alone: within a period, the rewards after a
signal have one mean, whatever the action. Against it is set, for every action, the alternative
that this action has means of its own. Each reward is predicted from the rewards before it, under
the alternative with the Krichevsky–Trofimov estimator, and compared with the best mean of its
signal and period in hindsight:

    ln E_a = sum over rewards of ln(likelihood predicted under a)
             − sum over periods and signals of ln(largest likelihood of one mean)

Where E[reward | action, signal, past] is the same for all actions in each period, every E_a is at
most a nonnegative martingale that starts at 1, and so is their mean E: by Ville's inequality it
ever reaches 1/delta with probability at most delta, however actions are chosen. A reward x inside
[0, 1] has the likelihood p^x (1 − p)^(1 − x), which is convex in x and keeps the inequality.

**Periods** are runs of rewards in the order in which they settle, so that none is ever relabelled:
the first four have one length, the next four are twice as long, and so on. At the
end of a period what the predictions have learned counts half, so that they follow a theta that
moves; the comparison is with the period itself, so that such a theta alone is no evidence.

**The pooled test** has one mean for each signal and all time in place of one for each period, and
the alternative that the mean moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from foretell.stats.portable import portable_exp, portable_log
from foretell.types import Floats, Ints

PERIODS = 4
"""Periods of one length, before they become twice as long."""
SHORTEST = 200
"""Rewards of the first period, at least."""
PER_ACTION = 50
"""Rewards of the first period for each action."""
BATCH = 25
"""Rewards that are weighed together: periods end with a batch."""
MOST_WEIGHED = 100_000
"""Rewards times actions that are weighed at a time, about: a batch is never cut."""
WITHIN, POOLED = 0, 1


@dataclass
class SignalTest:
    """The evidence so far, and what it takes to go on."""

    actions: int
    signals: int
    evidence: Floats = field(init=False)
    """(actions, signals): ln E of the alternative that an action is another, by signal."""
    pooled: Floats = field(init=False)
    """(signals,): ln of the predicted likelihood of all rewards, if theta may move."""
    peak: Floats = field(init=False)
    """(2,): the largest ln E so far, within periods and pooled."""
    learned: Floats = field(init=False)
    """(actions, signals, 2): rewards and their sum; old ones count less."""
    period: Floats = field(init=False)
    """(actions, signals, 2): the same of this period."""
    _totals: list[list[float]] = field(init=False)
    """(signals, 2): the same of all time."""
    information: Floats = field(init=False)
    """(actions, signals): rewards of an action that others were compared with, in past periods."""
    means: list[float] = field(init=False)
    """The mean reward of each signal, in the batches that were full; 0 without any."""
    _last: Sequence[Sequence[float]] = field(init=False)
    """(BATCH, 3): action, signal and reward of the last batch that was full."""
    _waiting: list[tuple[int, int, float]] = field(init=False, default_factory=list)
    """The same of those that came after it."""
    _entered: int = field(init=False, default=0)
    """Rewards of full batches."""
    _period_end: int = field(init=False)
    """How many there are when this period ends."""
    _full: list[tuple[list[tuple[int, int, float]], list[float]]] = field(
        init=False, default_factory=list
    )
    """Batches that wait to be weighed, each with what `total` was after it."""
    _peaks: list[Floats] = field(init=False, default_factory=list)
    """What `peak` was after each batch that was weighed, since somebody asked."""

    def __post_init__(self) -> None:
        """Begin without rewards."""
        cells = (self.actions, self.signals)
        self.evidence = np.zeros(cells)
        self.pooled = np.zeros(self.signals)
        self.peak = np.zeros(2)
        self.learned, self.period = np.zeros((*cells, 2)), np.zeros((*cells, 2))
        self.total = np.zeros((self.signals, 2))
        self.information = np.zeros(cells)
        self._last = [(0.0, 0.0, 0.0)] * BATCH
        self._period_end = max(SHORTEST, PER_ACTION * self.actions)

    @property
    def total(self) -> Floats:
        """(signals, 2): rewards and their sum, of all time."""
        return np.array(self._totals)

    @total.setter
    def total(self, known: Floats) -> None:
        self._totals = known.tolist()
        self.means = _means(self._totals)

    @property
    def queue(self) -> Floats:
        """(BATCH, 3): action, signal and reward of those that wait, before those of the last."""
        queue = np.array(self._last, np.float64)
        if self._waiting:
            queue[: len(self._waiting)] = self._waiting
        return queue

    @property
    def clock(self) -> Ints:
        """(2,): rewards so far, and how many there are when this period ends."""
        return np.array([self._entered + len(self._waiting), self._period_end])

    def enter(self, rewards: Sequence[tuple[int, int, float]]) -> bool:
        """Take in rewards, each with its action and signal; return whether any were weighed.

        A reward, in [0, 1], is weighed with `BATCH` at a time, to the same result as one by one.
        """
        return bool(self.fill(rewards) and self.weigh())

    def fill(self, rewards: Sequence[tuple[int, int, float]]) -> int:
        """Take in rewards without weighing them; return how many batches have become full."""
        waiting, full = self._waiting, 0
        waiting += rewards
        while len(waiting) >= BATCH:
            self._fill_batch(waiting[:BATCH])
            del waiting[:BATCH]
            full += 1
        return full

    def _fill_batch(self, batch: list[tuple[int, int, float]]) -> None:
        for _, signal, reward in batch:
            total = self._totals[signal]
            total[0] += 1.0
            total[1] += reward
        self.means, self._last = _means(self._totals), batch
        self._entered += BATCH
        self._full.append((batch, list(chain.from_iterable(self._totals))))
        ends = self._entered >= self._period_end
        if ends or len(self._full) * BATCH * self.actions > MOST_WEIGHED:
            self._weigh_full()
        if ends:
            self._end_period()

    def weigh(self) -> list[Floats]:
        """Weigh the batches that are full; return what `peak` was after each, since last asked."""
        if self._full:
            self._weigh_full()
        peaks, self._peaks = self._peaks, []
        return peaks

    def _weigh_full(self) -> None:
        """Weigh the rewards of full batches, each predicted from all before it.

        What is known before a batch, and the evidence after it, are sums in the order of rewards;
        all the rest is found for many batches at once, as that takes hardly longer than for one.
        """
        batches, sums = zip(*self._full, strict=True)
        self._full.clear()
        numbers = chain.from_iterable(chain.from_iterable(batches))
        rows = np.fromiter(numbers, np.float64, len(batches) * BATCH * 3).reshape(-1, BATCH, 3)
        totals = np.array(sums).reshape(-1, self.signals, 2)
        action, signal = rows[..., 0].astype(np.int64), rows[..., 1].astype(np.int64)
        reward, entry = rows[..., 2], np.stack([np.ones(rows.shape[:2]), rows[..., 2]], axis=-1)
        batch, each = np.arange(len(rows))[:, None], np.arange(BATCH)
        learned = _known_before(self.learned, action, signal, entry)
        period = _known_before(self.period, action, signal, entry)
        before = _before(action, signal, entry, self.actions)
        learned = learned[batch, :, signal] + before
        everyone = _sum_over_actions(learned)
        own = learned[batch, each, action]
        shared = _predicted(everyone[:, :, None] - learned, 0.5)
        shared[batch, each, action] = _predicted(own, shared[batch, each, action])
        predicted = np.concatenate([shared, _predicted(everyone, 0.5)[..., None]], axis=-1)
        gains = _log_likelihood(predicted, reward[..., None])
        known = period.sum(axis=1)[batch, signal] + _sum_over_actions(before)
        without, best = _log_best(np.stack([known, known + entry]))
        gains[..., :-1] -= (best - without)[..., None]
        evidence = np.empty((len(rows), *self.evidence.shape))
        pooled = np.empty((len(rows), self.signals))
        flat = self.evidence.reshape(-1)
        cells = (np.arange(self.actions) * self.signals + signal[..., None]).reshape(len(rows), -1)
        gained = gains[..., :-1].reshape(len(rows), -1)
        for index, of in enumerate(signal):
            np.add.at(flat, cells[index], gained[index])
            np.add.at(self.pooled, of, gains[index, :, -1])
            evidence[index], pooled[index] = self.evidence, self.pooled
        for found in _log_evidence(evidence, pooled, totals):
            self.peak = np.maximum(self.peak, found)
            self._peaks.append(self.peak)

    def _end_period(self) -> None:
        self.information += compared(self.period)
        self.period[...] = 0.0
        self.learned *= 0.5
        self._period_end += self._length()

    def _length(self) -> int:
        """Return the length of the next period."""
        first = max(SHORTEST, PER_ACTION * self.actions)
        length, end = first, 0
        while end + PERIODS * length <= self._entered:
            end += PERIODS * length
            length *= 2
        return length

    def log_evidence(self) -> Floats:
        """Return ln E within periods, and ln E of the pooled test."""
        found: Floats = _log_evidence(self.evidence[None], self.pooled[None], self.total[None])[0]
        return found

    def grow(self, actions: int, signals: int) -> None:
        """Make room for more actions or signals; a new action begins with the evidence so far."""
        within = self.log_evidence()[WITHIN]
        before = (self.actions, self.signals)
        grown = SignalTest(actions, signals)
        grown.evidence[self.actions :, 0] = within
        grown.peak = self.peak
        grown._last, grown._waiting = self._last, self._waiting
        grown._entered, grown._period_end = self._entered, self._period_end
        for name in ("evidence", "learned", "period", "information"):
            getattr(grown, name)[: before[0], : before[1]] = getattr(self, name)
        grown.pooled[: before[1]] = self.pooled
        grown.total = np.concatenate([self.total, grown.total[before[1] :]])
        self.__dict__.update(grown.__dict__)

    def arrays(self) -> dict[str, Floats | Ints]:
        """Return all that is known, by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    def restore(self, arrays: dict[str, Floats | Ints]) -> None:
        """Take what `arrays` returned."""
        for name in KNOWN:
            setattr(self, name, np.array(arrays[name]))
        entered, self._period_end = arrays["clock"].tolist()
        self._last = arrays["queue"].tolist()
        self._entered = entered - entered % BATCH
        waiting = arrays["queue"][: entered % BATCH].tolist()
        self._waiting = [(int(action), int(signal), reward) for action, signal, reward in waiting]


KNOWN = (
    "evidence",
    "pooled",
    "peak",
    "learned",
    "period",
    "total",
    "information",
)
ARRAYS = (*KNOWN, "queue", "clock")


def _means(totals: list[list[float]]) -> list[float]:
    return [total / max(1.0, count) for count, total in totals]


def compared(period: Floats) -> Floats:
    """Return how many rewards of each action and signal count in full as compared with others.

    n rewards against m of the other actions say as much as n m / (n + m) against a known mean.
    """
    own = period[..., 0]
    everyone = np.maximum(1.0, own.sum(axis=0))
    return own * (everyone - own) / everyone


def _known_before(known: Floats, action: Ints, signal: Ints, entry: Floats) -> Floats:
    """Add rewards to what is known, batch after batch; return what was known before each."""
    before, flat = np.empty((len(entry), *known.shape)), known.reshape(-1)
    cell = 2 * (action * known.shape[1] + signal)
    cells = np.stack([cell, cell + 1], axis=-1).reshape(len(entry), -1)
    entries = entry.reshape(len(entry), -1)
    for index in range(len(entry)):
        before[index] = known
        np.add.at(flat, cells[index], entries[index])
    return before


def _before(action: Ints, signal: Ints, entry: Floats, actions: int) -> Floats:
    """Return, for each reward of a batch, those of its signal before it, by action.

    Rewards are whole multiples of 1/GRAIN, and a batch has few: every sum is exact in any order.
    """
    batches = np.arange(len(entry))[:, None]
    entries = np.zeros((*signal.shape, actions, 2))
    entries[batches, np.arange(BATCH), action] = entry
    earlier = np.tril(signal[:, :, None] == signal[:, None], -1).astype(np.float64)
    before: Floats = (earlier @ entries.reshape(*signal.shape, -1)).reshape(entries.shape)
    return before


def _sum_over_actions(known: Floats) -> Floats:
    """Return the sum over the last axis but one, which NumPy adds up faster as the first."""
    total: Floats = np.ascontiguousarray(np.moveaxis(known, -2, 0)).sum(axis=0)
    return total


def _log_evidence(evidence: Floats, pooled: Floats, total: Floats) -> Floats:
    """Return ln E within periods, and ln E of the pooled test, of several moments."""
    by_action = evidence.sum(axis=2)
    largest = by_action.max(axis=1)
    means = portable_exp(by_action - largest[:, None]).mean(axis=1)
    within = largest + [math.log(mean) for mean in means.tolist()]
    return np.stack([within, pooled.sum(axis=1) - _log_best(total).sum(axis=1)], axis=1)


def _predicted(known: Floats, centre: Floats | float) -> Floats:
    """Return the mean of (rewards, sum) on the last axis, with one more reward of `centre`."""
    return (known[..., 1] + centre) / (known[..., 0] + 1.0)


def _log_likelihood(mean: Floats, reward: Floats) -> Floats:
    if ((reward == 0.0) | (reward == 1.0)).all():  # then one of the two is not needed
        return portable_log(np.where(reward == 1.0, mean, 1.0 - mean))
    log_mean, log_rest = portable_log(np.stack([mean, 1.0 - mean]))  # one call for both
    return reward * log_mean + (1.0 - reward) * log_rest


def _log_best(known: Floats) -> Floats:
    """Return ln of the likelihood of rewards, as (rewards, sum), under the best mean."""
    count, total = known[..., 0], known[..., 1]
    mixed = (total > 0.0) & (total < count)
    mean = np.where(mixed, total, 0.5) / np.where(mixed, count, 1.0)
    return np.where(mixed, count * _log_likelihood(mean, mean), 0.0)
