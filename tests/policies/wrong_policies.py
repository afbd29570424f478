"""Policies that break one law each; a test that makes one registers it for itself alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import foretell as ft
from foretell.policies.nsd_ucrl2 import NsdUcrl2State
from foretell.policies.parts.argmax import argmax
from foretell.policies.sw_ucb import SwUcbState
from foretell.policies.ucb import UcbState
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    indices,
    observe,
    play,
    uncredit,
    unobserve,
)
from foretell.types import Bools, Floats, Ints

Rng = np.random.Generator


def like_ucb(name: str, state: type, **settings: Any) -> type[ft.Spec]:
    """Register a policy that is UCB but for the verbs of its own state."""

    @ft.register(name, **settings)
    @dataclass(frozen=True)
    class Wrong(ft.Ucb):
        """UCB, but for one thing."""

    def begins(spec: Wrong, problem: ft.Problem) -> Any:
        return state(*begin(ft.Ucb(spec.scale), problem))

    begin.register(Wrong)(begins)
    return Wrong


def choose_mutates() -> ft.Spec:
    class State(UcbState):
        pass

    @choose.register(State)
    def chooses(state: State, t: int, eligible: Bools, rng: Rng) -> int:
        state.rewards.counts[0] += 1
        return argmax(state.scratch, eligible, rng)

    return like_ucb("choose-mutates", State)()


def choose_remembers() -> ft.Spec:
    class State(UcbState):
        pass

    @choose.register(State)
    def chooses(state: State, t: int, eligible: Bools, rng: Rng) -> int:
        state.scratch[0] = (state.scratch[0] + 1) % 7
        allowed = np.flatnonzero(eligible)
        return int(allowed[int(state.scratch[0]) % len(allowed)])

    return like_ucb("choose-remembers", State)()


def gets_rewards_early() -> ft.Spec:
    return like_ucb("early", UcbState, undelayed=True)()


def knows_the_changes() -> ft.Spec:
    class State(NamedTuple):
        changes: Ints
        scratch: Floats

    @ft.register("knows-changes")
    @dataclass(frozen=True)
    class KnowsChanges(ft.Spec):
        """An oracle that does not say so."""

    @begin.register(KnowsChanges)
    def begins(spec: KnowsChanges, problem: ft.Problem) -> State:
        return State(np.array(problem.changes, np.int64), np.zeros(problem.actions))

    return KnowsChanges()


def takes_the_first_of_ties() -> ft.Spec:
    class State(UcbState):
        pass

    @choose.register(State)
    def chooses(state: State, t: int, eligible: Bools, rng: Rng) -> int:
        indices(state, t, state.scratch)
        return int(np.argmax(np.where(eligible, state.scratch, -np.inf)))

    return like_ucb("first-of-ties", State)()


def ignores_eligible() -> ft.Spec:
    class State(UcbState):
        pass

    @choose.register(State)
    def chooses(state: State, t: int, eligible: Bools, rng: Rng) -> int:
        indices(state, t, state.scratch)
        return argmax(state.scratch, np.ones_like(eligible), rng)

    return like_ucb("ignores-eligible", State)()


def prefers_high_numbers() -> ft.Spec:
    class State(UcbState):
        pass

    @indices.register(State)
    def ranks(state: State, t: int, out: Floats) -> None:
        indices.dispatch(UcbState)(state, t, out)
        out += 0.01 * np.arange(out.size)

    return like_ucb("high-numbers", State)()


def samples_high_numbers() -> ft.Spec:
    @ft.register("samples-high")
    @dataclass(frozen=True)
    class SamplesHigh(ft.Spec):
        """A sampling policy that likes the last action once it has started."""

    class Sampled(NamedTuple):
        scratch: Floats

    @begin.register(SamplesHigh)
    def begins(spec: SamplesHigh, problem: ft.Problem) -> Sampled:
        return Sampled(np.zeros(problem.actions))

    for verb in (play, observe, credit):
        verb.register(Sampled)(lambda *_: None)

    @choose.register(Sampled)
    def chooses(state: Sampled, t: int, eligible: Bools, rng: Rng) -> int:
        allowed = np.flatnonzero(eligible)
        return int(allowed[-1] if t > 0 and rng.random() < 0.9 else rng.choice(allowed))

    return SamplesHigh()


def weighs_the_last_arrival() -> ft.Spec:
    class State(UcbState):
        pass

    @credit.register(State)
    def credits_last(state: State, t: int, action: int, signal: int, reward: float) -> None:
        state.rewards.counts[action] += 1
        state.rewards.grains[action] = state.rewards.grains[action] // 2 + int(reward * 2**30)

    return like_ucb("last-arrival", State)()


def window_of_rewards(offset: int) -> Callable[[], ft.Spec]:
    def make() -> ft.Spec:
        @ft.register(f"reward-window-{'long' if offset > 0 else 'short'}")
        @dataclass(frozen=True)
        class Off(ft.SwUcb):
            """Sliding-window UCB with another window."""

        @begin.register(Off)
        def begins(spec: Off, problem: ft.Problem) -> SwUcbState:
            window = None if spec.window is None else spec.window + offset
            state: SwUcbState = begin(ft.SwUcb(window, over=spec.over), problem)
            return state

        return Off(over="rounds")

    return make


def window_of_signals(offset: int) -> Callable[[], ft.Spec]:
    def make() -> ft.Spec:
        @ft.register(f"signal-window-{'long' if offset > 0 else 'short'}")
        @dataclass(frozen=True)
        class Off(ft.NsdUcrl2):
            """NSD-UCRL2 with another window."""

        @begin.register(Off)
        def begins(spec: Off, problem: ft.Problem) -> NsdUcrl2State:
            window = None if spec.window is None else spec.window + offset
            state: NsdUcrl2State = begin(ft.NsdUcrl2(window, spec.delta), problem)
            return state

        return Off()

    return make


def window_that_forgets_nothing() -> ft.Spec:
    @ft.register("forgets-nothing")
    @dataclass(frozen=True)
    class ForgetsNothing(ft.NsdUcrl2):
        """NSD-UCRL2 that takes a window and has none."""

    @begin.register(ForgetsNothing)
    def begins(spec: ForgetsNothing, problem: ft.Problem) -> NsdUcrl2State:
        state: NsdUcrl2State = begin(ft.NsdUcrl2(None, spec.delta), problem)
        return state

    return ForgetsNothing()


def uncredits_too_little() -> ft.Spec:
    class State(UcbState):
        pass

    @uncredit.register(State)
    def uncredits(state: State, t: int, action: int, signal: int, reward: float) -> None:
        state.rewards.grains[action] -= int(reward * 2**30)

    return like_ucb("uncredits-little", State)()


def like_nsd_ucrl2(name: str, state: type) -> ft.Spec:
    """Register a policy that is NSD-UCRL2 but for the verbs of its own state."""

    @ft.register(name)
    @dataclass(frozen=True)
    class Wrong(ft.NsdUcrl2):
        """NSD-UCRL2, but for one thing."""

    def begins(spec: Wrong, problem: ft.Problem) -> Any:
        return state(*begin(ft.NsdUcrl2(spec.window, spec.delta), problem))

    begin.register(Wrong)(begins)
    return Wrong()


def unobserves_too_little() -> ft.Spec:
    class State(NsdUcrl2State):
        pass

    @unobserve.register(State)
    def unobserves(state: State, t: int, action: int, signal: int) -> None:
        state.law.counts[action, signal] -= 1

    return like_nsd_ucrl2("unobserves-little", State)


def unobserves_what_left_the_window() -> ft.Spec:
    class State(NsdUcrl2State):
        pass

    @unobserve.register(State)
    def unobserves(state: State, t: int, action: int, signal: int) -> None:
        state.law.counts[action, signal] -= 1
        state.law.seen[action] -= 1
        window = state.law.window
        if window > 0 and t >= state.law.clock[0] - window:
            state.law.signal[t & (state.law.signal.size - 1)] = -1

    return like_nsd_ucrl2("unobserves-much", State)


def chooses_what_is_not_there_when_grown() -> ft.Spec:
    class State(UcbState):
        pass

    @choose.register(State)
    def chooses(state: State, t: int, eligible: Bools, rng: Rng) -> int:
        indices(state, t, state.scratch)
        return argmax(state.scratch, eligible, rng) if eligible.size <= 4 else eligible.size

    return like_ucb("grows-wrongly", State)()


def means_another_spec() -> ft.Spec:
    @ft.register("doubles")
    @dataclass(frozen=True)
    class Doubles(ft.Spec):
        """A spec that changes what it is given."""

        amount: int = 1

        def __post_init__(self) -> None:
            object.__setattr__(self, "amount", 2 * self.amount)

    return Doubles()
