"""Another policy reads a log: what would it have played at each decision?

The policy learns what was decided and what came of it, in order, each signal and reward from the
moment on at which the campaign knew it. At each decision its probabilities are taken, as a campaign
with this policy and the same share of exploration would have drawn from them. What it would have
learned from actions of its own is in no log.

`replay_rounds` is plain Python; `foretell.sim.compiled` hands it to the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from foretell.evaluation.decision_log import UNKNOWN, DecisionLog
from foretell.evaluation.reward_model import (
    RewardModel,
    expected_reward,
    model_credit,
    model_observe,
    new_reward_model,
)
from foretell.kernel import kernel
from foretell.policies.capabilities import learns_from_signals
from foretell.policies.draw import write_shares
from foretell.policies.registry import entry, start
from foretell.policies.spec import Spec
from foretell.policies.verbs import credit, observe, play
from foretell.types import Bools, Floats, Ints, Problem

TABLE_DRAWS = 32
"""Choices of a sampling policy from which its probabilities are read, as in the service."""
STEP = 64
"""Decisions that are replayed in one call."""


class Deliveries(NamedTuple):
    """What is delivered, in order: signals and rewards, each with the moment of its delivery."""

    at: Ints
    decision: Ints
    is_reward: Bools


class Replayed(NamedTuple):
    """What the policy would have done at each decision."""

    probability: Floats
    """That of the logged action."""
    expected: Floats
    """What the reward model expected of the logged action."""
    value: Floats
    """What it expected of the policy: of each action, weighted by its probability."""


class Scratch(NamedTuple):
    """What a replay goes on with from one call to the next."""

    model: RewardModel
    known: Bools
    """(actions,): of which the policy has had feedback."""
    shares: Floats
    others: Bools
    rest: Floats
    delivered: Ints
    """(1,): deliveries so far."""


def deliveries(log: DecisionLog, *, in_order: bool, withheld: bool) -> Deliveries:
    """Return what is delivered of a log, and when.

    `in_order` delivers signals in the order of decisions, for policies that read a stream;
    `withheld` delivers each with its reward.
    """
    signal_at = np.maximum(log.signal_at, log.reward_at) if withheld else log.signal_at
    seen = log.signal != UNKNOWN
    if withheld:
        seen = seen & ~np.isnan(log.reward)
    if in_order:
        signal_at = np.maximum.accumulate(signal_at)
    paid = seen & ~np.isnan(log.reward)
    reward_at = np.maximum(log.reward_at, signal_at)
    decision = np.concatenate([np.flatnonzero(seen), np.flatnonzero(paid)])
    at = np.concatenate([signal_at[seen], reward_at[paid]])
    is_reward = np.arange(at.size) >= int(seen.sum())
    order = np.lexsort((is_reward, decision, at))
    return Deliveries(at[order], decision[order], is_reward[order])


@kernel
def replay_rounds(
    state: Any,
    log: DecisionLog,
    due: Deliveries,
    blind: bool,  # noqa: FBT001  (what the policy does, not how it is asked)
    t: int,
    until: int,
    draws: int,
    rng: np.random.Generator,
    scratch: Scratch,
    replayed: Replayed,
) -> None:
    """Replay the decisions from t up to `until`."""
    model, shares = scratch.model, scratch.shares
    event = scratch.delivered[0]
    while t < until:
        while event < due.at.size and due.at[event] <= log.decided_at[t]:
            of = due.decision[event]
            action, signal = log.action[of], log.signal[of]
            if due.is_reward[event]:
                credit(state, of, action, signal, log.reward[of])
                model_credit(model, signal, log.reward[of])
            else:
                observe(state, of, action, signal)
                model_observe(model, action, signal)
            if due.is_reward[event] or not blind:
                scratch.known[action] = True
            event += 1
        eligible = log.masks[log.eligible[t]]
        write_shares(state, t, eligible, rng, draws, shares)
        if _unknown_get_too_much(eligible, scratch):
            write_shares(state, t, scratch.others, rng, draws, scratch.rest)
            _even_out(eligible, scratch)
        action, explore = log.action[t], log.explore[t]
        count = 0
        for other in range(shares.size):
            count += eligible[other]
        value = 0.0
        for other in range(shares.size):
            if eligible[other]:
                shares[other] = explore / count + (1.0 - explore) * shares[other]
                if shares[other] > 0.0:
                    value += shares[other] * expected_reward(model, other)
        replayed.probability[t] = shares[action]
        replayed.expected[t] = expected_reward(model, action)
        replayed.value[t] = value
        play(state, t, action)
        t += 1
    scratch.delivered[0] = event


@kernel
def _unknown_get_too_much(eligible: Bools, scratch: Scratch) -> bool:
    """Return whether actions without feedback get more than an even share of the decisions.

    `scratch.others` becomes the eligible actions with feedback. The service never lets them have
    more (`foretell.service.model.decider`).
    """
    unknown, others, taken = 0, 0, 0.0
    for action in range(eligible.size):
        has_feedback = eligible[action] and scratch.known[action]
        scratch.others[action] = has_feedback
        others += has_feedback
        if eligible[action] and not has_feedback:
            unknown += 1
            taken += scratch.shares[action]
    return others > 0 and taken > unknown / (unknown + others)


@kernel
def _even_out(eligible: Bools, scratch: Scratch) -> None:
    """Leave the actions without feedback an even share, and the others the rest of it."""
    unknown, count, taken = 0, 0, 0.0
    for action in range(eligible.size):
        if eligible[action]:
            count += 1
            if not scratch.others[action]:
                unknown += 1
                taken += scratch.shares[action]
    even = unknown / count
    for action in range(eligible.size):
        if scratch.others[action]:
            scratch.shares[action] = scratch.rest[action] * (1.0 - even)
        else:
            scratch.shares[action] *= even / taken


Replayer = Callable[..., Any]
"""`replay_rounds`, plain or compiled."""


class Replay:
    """A policy on its way through a log, a step at a time."""

    def __init__(
        self,
        spec: Spec,
        log: DecisionLog,
        problem: Problem,
        *,
        withheld: bool = False,
        replayer: Callable[[Any], Replayer] = lambda _: replay_rounds,
    ) -> None:
        """Stand before the first decision; `replayer` returns what replays such a state."""
        self.log, self.state = log, start(spec, problem)
        self._due = deliveries(log, in_order=entry(spec).stream, withheld=withheld)
        self._blind = not learns_from_signals(spec, problem)
        self._rng = np.random.Generator(np.random.SFC64(0))
        actions = log.actions
        self._scratch = Scratch(
            new_reward_model(actions, problem.signals),
            np.zeros(actions, np.bool_),
            np.zeros(actions),
            np.zeros(actions, np.bool_),
            np.zeros(actions),
            np.zeros(1, np.int64),
        )
        self._rounds = replayer(self.state)
        self.t = 0
        self.replayed = Replayed(*(np.zeros(log.decisions) for _ in Replayed._fields))

    @property
    def shares(self) -> Floats:
        """The probabilities of all actions at the last decision that was replayed."""
        return self._scratch.shares

    def step(self, decisions: int = STEP) -> int:
        """Replay the next decisions, and return how many they were: 0 at the end."""
        until = min(self.log.decisions, self.t + decisions)
        done = until - self.t
        if done:
            self._rounds(
                self.state,
                self.log,
                self._due,
                self._blind,
                self.t,
                until,
                TABLE_DRAWS,
                self._rng,
                self._scratch,
                self.replayed,
            )
        self.t = until
        return done
