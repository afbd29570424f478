"""A refit over arrays: many decisions at a time, to the same bytes as one by one.

Of each decision only what came of it is read in Python, and written into columns. What counts, what
is delivered, and what is counted of it is then found for all of them at once; the policy reads
columns, compiled where numba is installed; what settled goes to the ledger in the order of time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from foretell.evaluation.reading import CREDITED, PLAYED, Reader, Reading
from foretell.evaluation.reading import OBSERVED as OBSERVED_SIGNAL
from foretell.policies.verbs import credit, drawn, elapse, observe, play, unplay
from foretell.service.model.arrivals import EDGES
from foretell.service.model.events import (
    OBSERVED,
    SLOTS,
    DecisionRecords,
    Feedback,
    moment,
)
from foretell.service.model.learner import Learner
from foretell.service.model.open_reward import TICK
from foretell.service.model.outcome import WINDOW_GRID, Rules, Window
from foretell.service.model.refit_order import RefitOrder
from foretell.service.model.running import LastRefit, Running
from foretell.types import GRAIN, Bools, Floats, Ints

NOTHING = -1
"""A signal that there is not, and the time at which it did not come."""
_EDGES = np.array(EDGES)
_NEVER_REFIT = LastRefit(0, 0)


class _Waiting:
    """Decisions that wait to be taken in, in columns, and what came of some of them.

    Each of those says which decision it is: the first that waits is 0.
    """

    def __init__(self) -> None:
        self.number: list[int] = []
        self.action: list[int] = []
        self.mode: list[int] = []
        self.propensity: list[float] = []
        self.signals: tuple[list[int], list[int], list[int]] = [], [], []
        """Decisions, the signal that counts of each, and when it came."""
        self.rewards: tuple[list[int], list[float], list[int]] = [], [], []
        """Decisions, the sum of rewards of each, and when the first of them came."""
        self.void: list[int] = []
        self.simple_signals: list[int] = []
        self.simple_rewards: list[int] = []
        """When signals came, and rewards, that are not counted yet."""


class RefitColumns:
    """The decisions of a refit that are read and not yet taken in."""

    def __init__(self, learner: Learner, rules: Rules, position: int) -> None:
        """Read outcomes at a position of the log."""
        self._learner, self._rules = learner, rules
        self._position, self._now = position, moment(position)
        self._waiting = _Waiting()
        self._order = RefitOrder()
        """What puts into order what came of them."""

    def add(self, decisions: Sequence[DecisionRecords]) -> int:
        """Read the next decisions; return how many records of feedback these had by the position.

        There is at least one.
        """
        waiting, position, read = self._waiting, self._position, 0
        first = len(waiting.number)
        if not first:
            self._order = self._learner.ledger.refit_up_to(decisions[0].decided_at)
        number, _, decided, feedback = zip(*decisions, strict=True)
        waiting.number += number
        waiting.action += [one.action for one in decided]
        waiting.mode += [one.mode_index for one in decided]
        waiting.propensity += [one.propensity for one in decided]
        for index, some in enumerate(feedback):
            if some:
                if some[-1][0] >= position:
                    some = decisions[index].before(position).feedback  # noqa: PLW2901
                read += len(some)
                if not self._is_simple(first + index, some):
                    self._add_any(first + index, decisions[index]._replace(feedback=some))
        return read

    def __len__(self) -> int:
        """How many decisions wait to be taken in."""
        return len(self._waiting.number)

    def _is_simple(self, index: int, feedback: Sequence[Any]) -> bool:
        """Add what came of a decision, if that is no more than one signal and one reward."""
        signal_at = reward_at = signal = NOTHING
        reward = math.nan
        for seq, _, _, event in feedback:
            if event.verb_index != OBSERVED:
                return False
            if event.stage == 0:
                if signal_at >= 0:
                    return False
                signal, signal_at = int(event.value), seq // SLOTS
            else:
                if reward_at >= 0:
                    return False
                reward, reward_at = event.value, seq // SLOTS
        waiting = self._waiting
        if signal_at >= 0:
            _append(waiting.signals, (index, signal, signal_at))
            waiting.simple_signals.append(signal_at)
        if reward_at >= 0:
            _append(waiting.rewards, (index, reward, reward_at))
            waiting.simple_rewards.append(reward_at)
        return True

    def _add_any(self, index: int, records: DecisionRecords) -> None:
        """Add what came of a decision, whatever it is; its late feedback is counted here."""
        running = Running.of(self._rules, records, _NEVER_REFIT)
        seen, learner, at = running.signals[0], self._learner, running.decided_at
        total, came = running.reward.total, running.reward_arrival
        late = 0
        for record in records.feedback:
            assert isinstance(record.event, Feedback)  # noqa: S101  (nothing else is about one)
            learner.count_feedback(record, record.event)
            late += running.is_late(record)
        counted = sum(one is not None and one.late for one in (seen.arrival, came))
        learner.counters.count("late", late - counted)  # these are counted in `take`
        learner.counters.count("parked", running.reward.unmatched)
        waiting = self._waiting
        if seen.counted is not None and seen.arrival is not None:
            _append(waiting.signals, (index, seen.counted, at + seen.arrival.age))
        if total is not None or came is not None:
            first = NOTHING if came is None else at + came.age
            _append(waiting.rewards, (index, math.nan if total is None else total, first))
        if running.void:
            waiting.void.append(index)

    def take(self, cursors: list[int], passed: list[int], first: int, reader: Reader | None) -> int:
        """Take in the decisions that wait, of which the first has a rank; return how many.

        `reader` lets the policy read them, compiled; without one it reads them in plain Python.
        """
        learner, rules = self._learner, self._rules.stages
        rows, self._waiting = self._waiting, _Waiting()
        if not rows.number:
            return 0
        self._count_feedback(rows)
        number = np.array(rows.number)
        decided_at = number // SLOTS
        signal, signal_at = np.full(number.size, NOTHING), np.full(number.size, NOTHING)
        reward, reward_at = np.full(number.size, math.nan), np.full(number.size, NOTHING)
        void = np.zeros(number.size, np.bool_)
        came, signal[came], signal_at[came] = rows.signals
        came, reward[came], reward_at[came] = rows.rewards
        void[rows.void] = True
        due_signal = _closes(rules[0].window, decided_at)
        due_reward = _closes(rules[-1].window, decided_at)
        closed, paid_by = due_signal <= self._now, due_reward <= self._now
        silent = np.isnan(reward)
        if rules[0].waits:
            known = np.where(signal >= 0, signal, int(rules[0].default))
            signal = np.where(closed, known, NOTHING)
        signal = np.where(void, NOTHING, signal)
        if rules[-1].waits:
            known = np.where(silent, rules[-1].default, reward)
            reward = np.where(paid_by, known, math.nan)
        reward = np.where(signal >= 0, reward, math.nan)
        unit = self._units(reward)

        turn = np.ones(number.size, np.bool_)
        if rules[0].waits or not learner.undoes:
            turn = closed if rules[0].waits else closed | (signal >= 0)
            ready = self._pass(cursors, passed, 0, first, turn, number)
            turn = closed | (np.arange(number.size) < ready)
        if rules[-1].waits:
            self._pass(cursors, passed, len(rules) - 1, first, paid_by, number)
        t = learner.imported + first + np.arange(number.size)
        action = np.array(rows.action)
        due = _due(t, action, decided_at, np.where(turn, signal, NOTHING), unit)
        self._deliver(due, rows.propensity, void, reader)
        late = (signal_at >= due_signal, reward_at >= due_reward)
        mode = np.array(rows.mode)
        self._count(decided_at, mode, action, void)
        self._count_outcomes(
            decided_at, mode, action, signal, reward, unit, (signal_at, reward_at), late
        )
        learner.counters.count("late", int(late[0].sum() + late[1].sum()))
        if rules[-1].waits:
            settled_at = due_reward
        else:
            settled_at = np.maximum(decided_at, np.maximum(signal_at, reward_at))
            if rules[0].waits:
                settled_at = np.maximum(settled_at, due_signal)
        paid = ~np.isnan(unit)
        self._order.settle_all(
            settled_at[paid], action[paid], signal[paid], unit[paid], silent[paid]
        )
        return number.size

    def _count_feedback(self, rows: _Waiting) -> None:
        """Count the signals and rewards of what is no more than one of each."""
        counters = self._learner.counters
        for name, came, waiting in (
            ("signal", rows.simple_signals, self._order.signals),
            ("reward", rows.simple_rewards, self._order.rewards),
        ):
            if came:
                counters.count(f"{name}s", len(came))
                counters.note(name, max(came))
                waiting.extend(came)

    def _units(self, reward: Floats) -> Floats:
        """Return rewards in the unit of policies, as `Learner` does; NaN stays."""
        low, high = self._learner.config.reward_range
        scale = self._learner.scale
        unit = (np.minimum(np.maximum(reward, low), high) - scale.low) / scale.width
        units: Floats = np.floor(unit * GRAIN + 0.5) / GRAIN
        return units

    def _pass(
        self,
        cursors: list[int],
        passed: list[int],
        stage: int,
        first: int,
        turn: Bools,
        number: Ints,
    ) -> int:
        """Move a cursor over the decisions whose turn has come; return how many those are."""
        if cursors[stage] != first:
            return 0
        ready = turn.size if turn.all() else int(np.argmin(turn))
        if ready:
            cursors[stage] += ready
            passed[stage] = int(number[ready - 1])
        return ready

    def _deliver(
        self, due: Reading, propensity: list[float], void: Bools, reader: Reader | None
    ) -> None:
        learner = self._learner
        if reader is not None:
            reader(learner.state, due)
            return
        view, weighs, unplays = learner.learning, learner.weighs, learner.unplays
        columns = zip(*(one.tolist() for one in due), propensity, void.tolist(), strict=True)
        for t, action, tick, signal, reward, verbs, share, was_void in columns:
            play(view, t, action)
            if weighs:
                drawn(view, t, action, share)
            elapse(view, tick)
            if verbs & OBSERVED_SIGNAL:
                observe(view, t, action, signal)
            if verbs & CREDITED:
                credit(view, t, action, signal, reward)
            if was_void and unplays:
                unplay(view, t, action)

    def _count(self, decided_at: Ints, mode: Ints, action: Ints, void: Bools) -> None:
        counters = self._learner.counters
        counters.count("decisions", decided_at.size)
        counters.note("decision", int(decided_at[-1]))
        counters.count("voided", int(void.sum()))
        counters.stretches.reach(int(decided_at[0]), int(decided_at[-1]))
        counters.stretches.add_decisions(decided_at, mode, action, void)

    def _count_outcomes(
        self,
        decided_at: Ints,
        mode: Ints,
        action: Ints,
        signal: Ints,
        reward: Floats,
        unit: Floats,
        came_at: tuple[Ints, Ints],
        late: tuple[Bools, Bools],
    ) -> None:
        counters = self._learner.counters
        low, high = self._learner.config.reward_range
        seen, paid = signal >= 0, ~np.isnan(reward)
        with np.errstate(invalid="ignore"):
            outside = paid & ((reward < low) | (reward > high))
            grains = np.where(paid, np.rint(unit * GRAIN), 0.0).astype(np.int64)
        counters.count("clipped", int(outside.sum()))
        counters.add_outcomes(decided_at, mode, action, signal, seen, paid, grains)
        for what, (at, was_late) in enumerate(zip(came_at, late, strict=True)):
            came = seen & (at >= 0)
            bins = np.searchsorted(_EDGES, at[came] - decided_at[came], side="right")
            ages = counters.arrivals.signals if what == 0 else counters.arrivals.rewards
            np.add.at(ages, (signal[came], bins), 1)
            counters.stretches.add_arrivals(
                decided_at[came], signal[came], 2 * what, was_late[came]
            )


def _due(t: Ints, action: Ints, decided_at: Ints, signal: Ints, reward: Floats) -> Reading:
    """Return what the policy reads of decisions: a reward with its signal only."""
    seen = signal >= 0
    verbs = PLAYED + OBSERVED_SIGNAL * seen + CREDITED * (seen & ~np.isnan(reward))
    return Reading(t, action, decided_at // TICK, signal, reward, verbs)


def _append(columns: tuple[list[Any], ...], row: tuple[float, ...]) -> None:
    for column, value in zip(columns, row, strict=True):
        column.append(value)


def _closes(window: Window, decided_at: Ints) -> Ints:
    """Return the moments at which the windows of decisions close."""
    length = np.full(decided_at.size, window.length)
    for upto, shorter in window.kept:
        length = np.where(decided_at <= upto, np.minimum(length, shorter), length)
    due: Ints = -(-(decided_at + length) // WINDOW_GRID) * WINDOW_GRID
    return due
