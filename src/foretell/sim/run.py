"""How a policy and a world meet: runs, round by round.

`play_rounds` is the protocol of [Vernade2020, Sec. 2], `play_runs` one run after the other. They
are plain Python; `sim.compiled` hands the same functions to the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foretell.kernel import kernel, reseed
from foretell.policies.state import in_one_block, restore
from foretell.policies.verbs import alarms, choose, credit, observe, play
from foretell.sim.censored import pass_censored
from foretell.sim.pending import (
    NO_ENTRY,
    Pending,
    add_pending,
    doubled,
    is_full,
    new_pending,
    pass_ring,
    take_due,
)
from foretell.sim.streams import NOISE_STREAM, POLICY_STREAM, Words, new_generator
from foretell.types import Bools, Floats, Ints
from foretell.worlds.delays import NEVER
from foretell.worlds.world import (
    Now,
    World,
    answer,
    before_round_zero,
    begin_run,
    best_action,
    move_to,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_ROOM = 1024


class Trace(NamedTuple):
    """What runs write down, one row each."""

    rounds: Ints
    """(checkpoints,): the rounds after which the regret is written, increasing."""
    regret: Floats
    """(runs, checkpoints): the dynamic regret after each of them."""
    pulls: Ints
    """(runs, actions): how often each action was played."""
    actions: npt.NDArray[np.int32]
    """(runs, horizon) where trajectories are wanted, else (runs, 0); so are the next ones."""
    signals: npt.NDArray[np.int32]
    rewards: Floats
    delays: Ints
    gaps: Floats
    """By how much the action played is worse than the best one."""
    best_actions: npt.NDArray[np.int32]
    """The best action, the first one of equals."""
    alarms: npt.NDArray[np.int32]
    """How many alarms the policy raised."""

    def part(self, first: int, end: int) -> Trace:
        """Return the rows of some runs; what is written there is written here."""
        return Trace._make((self.rounds, *(array[first:end] for array in self[1:])))


def new_trace(rounds: Ints, runs: int, actions: int, traced: int) -> Trace:
    """Return an empty trace; `traced` is the horizon where trajectories are wanted, else 0."""
    return Trace(
        rounds=rounds,
        regret=np.zeros((runs, rounds.size)),
        pulls=np.zeros((runs, actions), np.int64),
        actions=np.zeros((runs, traced), np.int32),
        signals=np.zeros((runs, traced), np.int32),
        rewards=np.zeros((runs, traced)),
        delays=np.zeros((runs, traced), np.int64),
        gaps=np.zeros((runs, traced)),
        best_actions=np.zeros((runs, traced), np.int32),
        alarms=np.zeros((runs, traced), np.int32),
    )


class Progress(NamedTuple):
    """How far the runs have come."""

    run: Ints
    """(1,): the run that is played."""
    round: Ints
    """(1,): its next round."""
    written: Ints
    """(1,): its checkpoints written so far."""
    regret: Floats
    """(1,): its regret so far."""
    stop: Bools
    """(1,): setting it from another thread ends all runs at the next checkpoint."""


@kernel
def _pass_delayed(
    state: Any,
    pending: Pending,
    constant: int,
    horizon: int,
    t: int,
    action: int,
    signal: int,
    reward: float,
    delay: int,
) -> None:
    """Let the reward of round t wait for its delay, and credit every reward that is due."""
    in_ring = constant != NEVER
    if in_ring:
        entry = pass_ring(pending, constant, t, action, signal, reward)
    else:
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
        entry = NO_ENTRY if in_ring else take_due(pending, t)


@kernel
def play_rounds(
    world: World,
    now: Now,
    state: Any,
    pending: Pending,
    horizon: int,
    undelayed: bool,
    eligible: Bools,
    noise: np.random.Generator,
    rng: np.random.Generator,
    trace: Trace,
    progress: Progress,
) -> None:
    """Play the run on to the horizon, or until no more rewards can wait.

    `noise` belongs to the world, `rng` to the policy. `undelayed` gives every reward at once. The
    outer loop moves the law and writes checkpoints, the inner one plays to the next of either.
    """
    run = progress.run[0]
    t = progress.round[0]
    written = progress.written[0]
    regret = progress.regret[0]
    constant = 0 if undelayed else world.delays.constant
    window = world.reward_window
    traced = trace.actions.shape[1] > 0
    raised_before = alarms(state)
    while t < horizon and not is_full(pending):
        following = move_to(world, now, t)
        until = horizon if following < 0 else min(following, horizon)
        checkpoint = horizon
        if written < trace.rounds.size:
            checkpoint = trace.rounds[written]
            until = min(until, checkpoint + 1)
        while t < until and not is_full(pending):
            action = choose(state, t, eligible, rng)
            play(state, t, action)
            signal, reward, delay = answer(world, now, action, noise)
            observe(state, t, action, signal)

            if window > 0:
                pass_censored(state, pending, window, horizon, t, action, signal, reward, delay)
            else:
                _pass_delayed(state, pending, constant, horizon, t, action, signal, reward, delay)

            regret += now.gaps[action]
            trace.pulls[run, action] += 1
            if traced:
                trace.actions[run, t] = action
                trace.signals[run, t] = signal
                trace.rewards[run, t] = reward
                trace.delays[run, t] = 0 if undelayed else delay
                trace.gaps[run, t] = now.gaps[action]
                trace.best_actions[run, t] = best_action(now)
                raised = alarms(state)
                trace.alarms[run, t] = raised - raised_before
                raised_before = raised
            t += 1
        if t == checkpoint + 1:
            trace.regret[run, written] = regret
            written += 1
            if progress.stop[0]:
                t = horizon
    progress.round[0] = t
    progress.written[0] = written
    progress.regret[0] = regret


@kernel
def play_runs(
    world: World,
    now: Now,
    state: Any,
    block: Ints,
    pristine: Ints,
    pending: Pending,
    horizon: int,
    undelayed: bool,
    eligible: Bools,
    noise: np.random.Generator,
    rng: np.random.Generator,
    words: Words,
    trace: Trace,
    progress: Progress,
) -> None:
    """Play one run after the other, or until no more rewards can wait.

    Every run begins from the state in `pristine`, its own world and its own streams.
    """
    while progress.run[0] < words.shape[0] and not progress.stop[0]:
        run = progress.run[0]
        if progress.round[0] == 0:
            restore(block, pristine)
            reseed(noise, words[run, NOISE_STREAM])
            reseed(rng, words[run, POLICY_STREAM])
            begin_run(world, now, run)
            progress.written[0] = 0
            progress.regret[0] = 0.0
        play_rounds(
            world,
            now,
            state,
            pending,
            horizon,
            undelayed,
            eligible,
            noise,
            rng,
            trace,
            progress,
        )
        if progress.round[0] < horizon:
            return
        progress.run[0] = run + 1
        progress.round[0] = 0


def new_progress(stop: Bools) -> Progress:
    """Stand before the first run."""
    return Progress(
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), stop
    )


def run_all(
    world: World,
    state: Any,
    horizon: int,
    words: Words,
    trace: Trace,
    *,
    undelayed: bool = False,
    stop: Bools | None = None,
    player: Callable[..., object] = play_runs,
) -> None:
    """Let the policy in `state` act in each of the worlds, and write into `trace` what happens.

    Run i has row i of `words` and of `trace`. `player` is `play_runs`, plain or compiled.
    """
    state, block = in_one_block(state)
    progress = new_progress(np.zeros(1, np.bool_) if stop is None else stop)
    if undelayed:
        world = world._replace(reward_window=0)
    constant = 0 if undelayed else world.delays.constant
    pending = new_pending(_first_room(NEVER if world.reward_window else constant, horizon))
    now = before_round_zero(world)
    pristine = block.copy()
    eligible = np.ones(trace.pulls.shape[1], np.bool_)
    noise, rng = new_generator(), new_generator()
    while True:
        player(
            world,
            now,
            state,
            block,
            pristine,
            pending,
            horizon,
            undelayed,
            eligible,
            noise,
            rng,
            words,
            trace,
            progress,
        )
        if progress.run[0] == len(words) or progress.stop[0]:
            return
        pending = doubled(pending)


def _first_room(constant: int, horizon: int) -> int:
    """Return the room of the ring, or the first one of the wheel: a power of two."""
    if constant == NEVER:
        return FIRST_ROOM
    return 1 << constant.bit_length() if constant < horizon else 1
