"""Many runs at once: `simulate`."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, overload

import numpy as np

from foretell.errors import InvalidInput
from foretell.policies import Spec, entry, policy, start
from foretell.policies.verbs import alarms, has
from foretell.progress import progress_bar
from foretell.sim.draw_worlds import draw_worlds
from foretell.sim.own_sources import own_digests
from foretell.sim.prepare import compiled_program, cores, plain_program
from foretell.sim.provenance import provenance
from foretell.sim.result import Batch, Batches, Trajectories
from foretell.sim.run import Trace, new_trace, run_all
from foretell.sim.streams import Words, stream_words
from foretell.types import is_whole
from foretell.worlds.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foretell.types import Bools, Ints
    from foretell.worlds.world import World

MOST_CHECKPOINTS = 1000
WORK = 5_000_000
"""About how many rounds, times K·S, of one policy are played in one call."""
ROOM = 32 * 2**20
"""The most memory for the laws of one call, in bytes, if it is not a single world."""


@overload
def simulate(  # type: ignore[overload-overlap]  # a text is a sequence of texts, too
    scenario: Scenario,
    specs: str | Spec,
    horizon: int,
    runs: int = ...,
    seed: int = ...,
    *,
    threads: int | None = ...,
    checkpoints: int | Sequence[int] | None = ...,
    trajectories: bool = ...,
    progress: bool | None = ...,
    compiled: bool = ...,
    first_run: int = ...,
) -> Batch: ...
@overload
def simulate(
    scenario: Scenario,
    specs: Sequence[str | Spec],
    horizon: int,
    runs: int = ...,
    seed: int = ...,
    *,
    threads: int | None = ...,
    checkpoints: int | Sequence[int] | None = ...,
    trajectories: bool = ...,
    progress: bool | None = ...,
    compiled: bool = ...,
    first_run: int = ...,
) -> Batches: ...
def simulate(
    scenario: Scenario,
    specs: str | Spec | Sequence[str | Spec],
    horizon: int,
    runs: int = 50,
    seed: int = 0,
    *,
    threads: int | None = None,
    checkpoints: int | Sequence[int] | None = None,
    trajectories: bool = False,
    progress: bool | None = None,
    compiled: bool = True,
    first_run: int = 0,
) -> Batch | Batches:
    """Run one policy, or several in the same worlds, and return their regret.

    A list of specs gives batches keyed by the printed spec. Run i of every policy meets the same
    world and the same luck, whatever else is in the list, so differences are paired; the numbers
    depend on the seed alone, not on `threads`. `checkpoints` says after which rounds the regret
    is written: a list of rounds, or how many evenly spaced ones (at most 1,000 by default).
    `trajectories` keeps every round, with what was true in it. `progress` shows a bar; by default
    on a terminal and in a notebook.
    `compiled=False` runs the plain functions, slowly, for a debugger. `first_run` is the number
    of the first run: the runs of a seed are the same in whatever ranges they are played.
    """
    single = isinstance(specs, (str, Spec))
    chosen = [policy(one) for one in ([specs] if isinstance(specs, (str, Spec)) else specs)]
    if not isinstance(scenario, Scenario):
        raise InvalidInput(
            f"simulate needs a scenario, got {scenario!r}: "
            f"make one with foretell.Scenario(…) or foretell.scenario(name)"
        )
    if not chosen:
        raise InvalidInput("there is no policy to simulate: give at least one spec")
    for what, value in (("runs", runs), ("threads", 1 if threads is None else threads)):
        _check_whole(what, value, least=1)
    _check_whole("seed", seed, least=0)
    _check_whole("first_run", first_run, least=0)
    scenario.check(horizon)
    horizon, runs, seed = int(horizon), int(runs), int(seed)
    rounds = _checkpoint_rounds(checkpoints, horizon)
    chosen = list(dict.fromkeys(chosen))
    program = (
        compiled_program(chosen, scenario, horizon, shown=progress)
        if compiled
        else plain_program(chosen, scenario, horizon)
    )
    traced = horizon if trajectories else 0
    traces = [new_trace(rounds, runs, scenario.actions, traced) for _ in chosen]
    jumps = np.zeros((runs, traced), np.bool_)
    stop = np.zeros(1, np.bool_)

    def play_chunk(chunk: tuple[int, int]) -> int:
        first, end = chunk
        words = stream_words(seed, np.arange(first_run + first, first_run + end))
        world = draw_worlds(scenario, horizon, words, program.draw)
        if trajectories:
            for run in range(first, end):
                jumps[run, list(world.jumps_of(run - first))] = True
        for spec, player, trace in zip(chosen, program.play, traces, strict=True):
            _play(spec, scenario, horizon, world, words, trace.part(first, end), stop, player)
        return end - first

    workers = min(runs, threads or cores())
    chunks = _chunks(scenario, horizon, runs, workers)
    if workers == 1:
        played: Iterator[int] = map(play_chunk, chunks)
    else:
        played = _in_threads(play_chunk, chunks, workers, stop)
    with progress_bar(f"{len(chosen)} × {runs} runs", runs, shown=progress) as advance:
        for ended in played:
            advance(ended)
    batches = Batches(
        {
            str(spec): _collected(spec, scenario, horizon, seed, int(first_run), trace, jumps)
            for spec, trace in zip(chosen, traces, strict=True)
        }
    )
    return next(iter(batches.values())) if single else batches


def _play(
    spec: Spec,
    scenario: Scenario,
    horizon: int,
    world: World,
    words: Words,
    trace: Trace,
    stop: Bools,
    player: Callable[..., None],
) -> None:
    """Play the runs of one policy; where it is told the changes, those that share them at once."""
    known = entry(spec)
    runs = range(len(words))
    for changes, alike in itertools.groupby(
        runs, world.all_changes_of if known.lab_only else _nothing
    ):
        numbers = list(alike)
        first, end = numbers[0], numbers[-1] + 1
        run_all(
            world.of_runs(slice(first, end)),
            start(spec, scenario.problem(horizon, *changes)),
            horizon,
            words[first:end],
            trace.part(first, end),
            undelayed=known.undelayed,
            stop=stop,
            player=player,
        )


def _nothing(_: int) -> tuple[tuple[int, ...], ...]:
    """Return what a policy that is no oracle is told of the changes."""
    return ()


def _chunks(scenario: Scenario, horizon: int, runs: int, workers: int) -> list[tuple[int, int]]:
    """Share out the runs: enough of them at once to hide what a call costs, and not too many."""
    law = scenario.actions * scenario.signals
    room = ROOM // (8 * law * scenario.changes.room(horizon))
    size = max(1, min(WORK // (horizon * law), room, -(-runs // workers)))
    return [(first, min(runs, first + size)) for first in range(0, runs, size)]


def _in_threads(
    play_chunk: Callable[[tuple[int, int]], int],
    chunks: list[tuple[int, int]],
    workers: int,
    stop: Bools,
) -> Iterator[int]:
    """Yield how many runs have ended, as they do; an interrupt ends those under way, too."""
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(play_chunk, chunk) for chunk in chunks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            stop[0] = True
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _collected(
    spec: Spec,
    scenario: Scenario,
    horizon: int,
    seed: int,
    first_run: int,
    trace: Trace,
    jumps: Bools,
) -> Batch:
    traced = None
    if trace.actions.size:
        scale = scenario.scale
        detects = has(alarms, start(spec, scenario.problem(horizon)))
        traced = Trajectories(
            actions=trace.actions,
            signals=trace.signals,
            rewards=scale.low + scale.width * trace.rewards,
            delays=trace.delays,
            gaps=trace.gaps,
            best_actions=trace.best_actions,
            changes=jumps,
            alarms=trace.alarms if detects else None,
        )
    return Batch(
        spec=spec,
        scenario=scenario,
        horizon=horizon,
        seed=seed,
        rounds=trace.rounds,
        regret=trace.regret,
        actions=trace.pulls,
        provenance=provenance() | (own_digests(spec, scenario, horizon) or {}),
        trajectories=traced,
        first_run=first_run,
    )


def _checkpoint_rounds(checkpoints: int | Sequence[int] | None, horizon: int) -> Ints:
    if checkpoints is None:
        checkpoints = min(horizon, MOST_CHECKPOINTS)
    if isinstance(checkpoints, (int, np.integer)):
        _check_whole("checkpoints", checkpoints, least=1)
        count = min(int(checkpoints), horizon)
        return np.arange(1, count + 1) * horizon // count - 1
    try:
        rounds = np.asarray(checkpoints)
    except ValueError:
        rounds = np.zeros(0)
    if (
        rounds.ndim != 1
        or rounds.size == 0
        or not np.issubdtype(rounds.dtype, np.integer)
        or rounds[0] < 0
        or rounds[-1] >= horizon
        or (np.diff(rounds) <= 0).any()
    ):
        raise InvalidInput(
            f"checkpoints must be increasing rounds from 0 to {horizon - 1}, got {checkpoints!r}"
        )
    return rounds.astype(np.int64)


def _check_whole(what: str, value: int, *, least: int) -> None:
    if not is_whole(value) or value < least:
        raise InvalidInput(f"{what} must be a whole number of at least {least}, got {value!r}")
