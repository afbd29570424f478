"""The policy of a campaign and its counters, and how outcomes are delivered to both.

Which outcome is delivered, and when, is for the campaign to say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from foretell.evaluation.reading import Reader
from foretell.policies.registry import start
from foretell.policies.state import grow
from foretell.policies.verbs import (
    credit,
    drawn,
    has,
    observe,
    play,
    uncredit,
    unobserve,
    unplay,
    unwait,
    wait,
)
from foretell.service.model.counters import UNCOUNTED, Counted, Counters
from foretell.service.model.delivered import campaign_problem, capabilities_of
from foretell.service.model.events import OBSERVED, VOID, CampaignConfig, Feedback, Record
from foretell.service.model.imported_rows import ImportedRows
from foretell.service.model.learning_queue import LearningQueue
from foretell.service.model.live_policies import campaign_spec
from foretell.service.model.open_reward import TICK, OpenReward
from foretell.service.model.outcome import Outcome
from foretell.service.model.running import Running
from foretell.service.model.validity_ledger import ValidityLedger
from foretell.types import GRAIN, Bools, RewardScale

MOST_UNITS = 256
"""Rewards whose unit is at hand: most campaigns have few different ones."""


class Learner:
    """What a campaign has learned: the state of its policy, and what was counted."""

    def __init__(self, config: CampaignConfig) -> None:
        """Begin with nothing known."""
        self.config = config
        self.spec = campaign_spec(config)
        self.imported = sum(one.decisions for one in config.history)
        """Rounds of its policy before its own first: those of the imported histories."""
        self.scale = RewardScale("bounded", *config.reward_range)
        self._unit = lru_cache(MOST_UNITS)(partial(_clipped_unit, self.scale))
        self.learn_into(start(self.spec, campaign_problem(config)))
        self.counters = Counters(len(config.actions), len(config.signals))
        self.ledger = ValidityLedger(len(config.actions), len(config.signals))
        self.blind, self.undoes_rewards, self.undoes = capabilities_of(
            self.spec, campaign_problem(config)
        )

    def learn_into(self, state: Any) -> None:
        """Go on with a state."""
        self._queue = LearningQueue(state)
        self.served_state = state
        """The same as `state`, without a look at what waits: between two turns of the fold nothing
        does, so that decisions are drawn from it."""
        self.weighs, self.unplays = has(drawn, state), has(unplay, state)
        """Whether the policy must be told how likely a decision was, and of one never shown."""

    @property
    def state(self) -> Any:
        """The state of the policy, which knows all that it was told."""
        self._queue.tell()
        return self._queue.state

    @state.setter
    def state(self, state: Any) -> None:
        self._queue.state = self.served_state = state

    @property
    def learning(self) -> Any:
        """The same memory, as verbs that learn read it fastest."""
        self._queue.tell()
        return self._queue.view

    @property
    def reads_compiled(self) -> bool:
        """Whether the policy is told of many records at a time, compiled."""
        return self._queue.reader is not None

    def read_compiled(self, reader: Reader) -> None:
        """Let the policy be told of many records at a time, unless it must know more of each."""
        if not self.weighs:
            self._queue.reader = reader

    def tell(self) -> None:
        """Let the policy know what it was not told yet: before anyone else may look at it."""
        self._queue.tell()

    def configure(self, config: CampaignConfig) -> None:
        """Take a configuration with the same policy and rewards, and actions or signals added."""
        old, self.config = self.config, config
        if len(config.actions) > len(old.actions) or len(config.signals) > len(old.signals):
            self.spec = campaign_spec(config)
            problem = campaign_problem(config)
            self.learn_into(grow(self.spec, self.state, len(old.actions), problem))
            self.counters.grow(len(config.actions), len(config.signals))
            self.ledger.grow(len(config.actions), len(config.signals))

    def read_history(self, rows: ImportedRows, first: int = 0) -> None:
        """Let the policy know rows of its imported histories, from a round on, before all else.

        They are the policy's alone: nothing of them is counted.
        """
        columns = (column.tolist() for column in rows)
        for t, (action, signal, reward, propensity, _) in enumerate(
            zip(*columns, strict=True), first
        ):
            play(self.learning, t, action)
            if self.weighs:
                drawn(self.learning, t, action, propensity)
            observe(self.learning, t, action, signal)
            if not math.isnan(reward):
                credit(self.learning, t, action, signal, self._unit(reward))

    def play(self, running: Running, propensity: float) -> None:
        """Let the policy know a decision, and how likely it was, exploration and all."""
        t = self.imported + running.rank
        self._queue.play(t, running.action, running.decided_at // TICK)
        if self.weighs:
            drawn(self.learning, t, running.action, propensity)
        self.counters.decide(running)

    def void(self, running: Running, *, read: bool) -> None:
        """Count a decision that was never shown; the policy does not wait for its signal then."""
        self.counters.void(running)
        if not read and self.unplays:
            unplay(self.learning, self.imported + running.rank, running.action)

    def deliver(self, running: Running, before: Outcome, after: Outcome) -> None:
        """Let the policy know an outcome in place of the one that was delivered before."""
        if before == after:
            return
        t, action = self.imported + running.rank, running.action
        old, new = before[0], after[0]
        if before[-1] is not None and old is not None:
            uncredit(self.learning, t, action, int(old), self._unit(before[-1]))
        if old != new:
            if old is not None:
                unobserve(self.learning, t, action, int(old))
            if new is not None:
                self._queue.observe(t, action, int(new))
        if after[-1] is not None and new is not None:
            self._queue.credit(t, action, int(new), self._unit(after[-1]))

    def deliver_open(self, before: OpenReward | None, after: OpenReward | None) -> None:
        """Let a policy that corrects for silence know an open reward in place of another."""
        if before == after:
            return
        for verb, known in ((unwait, before), (wait, after)):
            if known is not None:
                reward = 0.0 if known.reward is None else self._unit(known.reward)
                verb(self.learning, known.made, known.signal, known.delay, reward, known.closed)

    def counted(self, running: Running, outcome: Outcome) -> Counted:
        """Return what counts of a decision in the reports."""
        signal, reward = outcome[0], outcome[-1]
        if signal is None:
            return UNCOUNTED
        return Counted(
            int(signal),
            None if reward is None else round(self._unit(reward) * GRAIN),
            self.outside(reward),
            running.signals[0].arrival,
            running.reward_arrival,
        )

    def count_outcome(self, running: Running, before: Counted, after: Counted, now: int) -> None:
        """Count an outcome in place of the one before; what is settled first, is to be tested."""
        self.counters.move(running, before, after)
        if before.grains is None and after.grains is not None and after.signal is not None:
            silent = running.reward.total is None
            unit = after.grains / GRAIN
            self.ledger.settle(now, running.action, after.signal, unit, silent=silent)

    def count_feedback(self, record: Record, event: Feedback) -> None:
        """Count a signal or a reward that has come, or a correction."""
        last = event.stage == len(self.config.stages) - 1
        if event.verb_index == OBSERVED:
            came = (record.recorded_at,)
            self.count_observed(() if last else came, came if last else ())
        elif event.verb_index != VOID:
            self.counters.count("rewards" if last else "signals")

    def count_observed(self, signals: Sequence[int], rewards: Sequence[int]) -> None:
        """Count signals and rewards that came at these moments, each of them in order."""
        if signals:
            self.counters.count("signals", len(signals))
            self.counters.note("signal", signals[-1])
            self.ledger.signals_came(signals)
        if rewards:
            self.counters.count("rewards", len(rewards))
            self.counters.note("reward", rewards[-1])
            self.ledger.rewards_came(rewards)

    def outside(self, reward: float | None) -> bool:
        """Return whether a reward lies outside the range."""
        low, high = self.config.reward_range
        return reward is not None and not low <= reward <= high

    def actions_without_feedback(self) -> Bools:
        """Mark the actions of which nothing was delivered to the policy yet."""
        counts = self.counters.paid if self.blind else self.counters.seen
        known: Bools = np.asarray(counts.any(axis=1))
        for one in self.config.history:
            marks = np.frombuffer(one.paid if self.blind else one.observed, np.uint8)
            known[: one.actions] |= np.unpackbits(marks, count=one.actions).astype(np.bool_)
        return np.logical_not(known)


def _clipped_unit(scale: RewardScale, reward: float) -> float:
    """Return a reward in the unit of policies; one outside the range is the nearest in it."""
    return scale.unit(min(max(reward, scale.low), scale.high))
