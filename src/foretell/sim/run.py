"""How a policy and a world meet: one run, round by round.

`play_rounds` is the protocol of [Vernade2020, Sec. 2]. It is plain Python; `sim.compiled` hands
the same function to the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foretell.kernel import kernel
from foretell.policies.verbs import choose, credit, observe, play
from foretell.sim.pending import (
    NO_ENTRY,
    Pending,
    add_pending,
    doubled,
    is_full,
    new_pending,
    take_due,
)
from foretell.types import Bools, Floats, Ints
from foretell.worlds.delays import NEVER
from foretell.worlds.world import Now, World, answer, before_round_zero, move_to

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_ROOM = 1024


class RunTrace(NamedTuple):
    """What a run writes down."""

    rounds: Ints
    """(checkpoints,): the rounds after which the regret is written, increasing."""
    regret: Floats
    """(checkpoints,): the dynamic regret after each of them."""
    pulls: Ints
    """(actions,): how often each action was played."""
    total: Floats
    """(1,): the regret so far."""
    written: Ints
    """(1,): the checkpoints written so far."""
    actions: npt.NDArray[np.int32]
    """(horizon,) where trajectories are wanted, else empty; so are the next three."""
    signals: npt.NDArray[np.int32]
    rewards: Floats
    delays: Ints


def new_run_trace(rounds: Ints, actions: int, traced: int) -> RunTrace:
    """Return an empty trace; `traced` is the horizon where trajectories are wanted, else 0."""
    return RunTrace(
        rounds=rounds,
        regret=np.zeros(rounds.size),
        pulls=np.zeros(actions, np.int64),
        total=np.zeros(1),
        written=np.zeros(1, np.int64),
        actions=np.zeros(traced, np.int32),
        signals=np.zeros(traced, np.int32),
        rewards=np.zeros(traced),
        delays=np.zeros(traced, np.int64),
    )


@kernel
def play_rounds(
    world: World,
    now: Now,
    state: Any,
    pending: Pending,
    first: int,
    horizon: int,
    undelayed: bool,
    eligible: Bools,
    noise: np.random.Generator,
    rng: np.random.Generator,
    trace: RunTrace,
    stop: Bools,
) -> int:
    """Play from round `first` to the horizon, or until no more rewards can wait.

    Returns the round that comes next. `noise` belongs to the world, `rng` to the policy.
    `undelayed` gives every reward at once. Setting `stop[0]` from another thread ends the run at
    its next checkpoint.
    """
    regret = trace.total[0]
    written = trace.written[0]
    checkpoint = trace.rounds[written] if written < trace.rounds.size else horizon
    t = first
    while t < horizon and not is_full(pending):
        move_to(world, now, t)

        action = choose(state, t, eligible, rng)
        play(state, t, action)
        signal, reward, delay = answer(world, now, action, noise)
        observe(state, t, action, signal)

        if undelayed:
            delay = 0
        if delay != NEVER and delay < horizon - t:
            add_pending(pending, t + delay, t, action, signal, reward)
        entry = take_due(pending, t)
        while entry != NO_ENTRY:
            credit(
                state,
                pending.round[entry],
                pending.action[entry],
                pending.signal[entry],
                pending.reward[entry],
            )
            entry = take_due(pending, t)

        regret += now.gaps[action]
        trace.pulls[action] += 1
        if trace.actions.size > 0:
            trace.actions[t] = action
            trace.signals[t] = signal
            trace.rewards[t] = reward
            trace.delays[t] = delay
        if t == checkpoint:
            trace.regret[written] = regret
            written += 1
            checkpoint = trace.rounds[written] if written < trace.rounds.size else horizon
            if stop[0]:
                return horizon
        t += 1
    trace.total[0] = regret
    trace.written[0] = written
    return t


def run(
    world: World,
    state: Any,
    horizon: int,
    trace: RunTrace,
    *,
    noise: np.random.Generator,
    rng: np.random.Generator,
    undelayed: bool = False,
    stop: Bools | None = None,
    player: Callable[..., int] = play_rounds,
) -> None:
    """Let the policy in `state` act in `world`, and write into `trace` what happens.

    `player` is `play_rounds`, plain or compiled; a compiled one wants SFC64 generators.
    """
    stop = np.zeros(1, np.bool_) if stop is None else stop
    eligible = np.ones(trace.pulls.size, np.bool_)
    now = before_round_zero(world)
    pending = new_pending(FIRST_ROOM)
    t = 0
    while t < horizon:
        t = player(
            world, now, state, pending, t, horizon, undelayed, eligible, noise, rng, trace, stop
        )
        if t < horizon:
            pending = doubled(pending)
