"""Many runs at once: `simulate`."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, overload

import numpy as np

from foretell.errors import InvalidInput, MissingExtra
from foretell.policies import Spec, entry, policy, start
from foretell.progress import progress_bar
from foretell.sim.provenance import provenance
from foretell.sim.result import Batch, Batches, Trajectories
from foretell.sim.run import RunTrace, new_run_trace, play_rounds, run
from foretell.sim.streams import NOISE_STREAM, POLICY_STREAM, WORLD_STREAM, random_stream
from foretell.types import is_whole
from foretell.worlds.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foretell.types import Bools, Ints

MOST_CHECKPOINTS = 1000


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
) -> Batch | Batches:
    """Run one policy, or several in the same worlds, and return their regret.

    A list of specs gives batches keyed by the printed spec. Run i of every policy meets the same
    world and the same luck, whatever else is in the list, so differences are paired; the numbers
    depend on the seed alone, not on `threads`. `checkpoints` says after which rounds the regret
    is written: a list of rounds, or how many evenly spaced ones (at most 1,000 by default).
    `trajectories` keeps every round. `progress` shows a bar; by default on a terminal only.
    `compiled=False` runs the plain functions, slowly, for a debugger.
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
    scenario.check(horizon)
    horizon, runs, seed = int(horizon), int(runs), int(seed)
    rounds = _checkpoint_rounds(checkpoints, horizon)
    chosen = list(dict.fromkeys(chosen))
    players = [_player(spec, scenario, horizon, compiled=compiled) for spec in chosen]
    stop = np.zeros(1, np.bool_)

    def one_run(number: int) -> list[RunTrace]:
        world = scenario.draw(horizon, random_stream(seed, number, WORLD_STREAM))
        problem = scenario.problem(horizon, world.changes)
        traces = []
        for spec, player in zip(chosen, players, strict=True):
            trace = new_run_trace(rounds, scenario.actions, horizon if trajectories else 0)
            run(
                world,
                start(spec, problem),
                horizon,
                trace,
                noise=random_stream(seed, number, NOISE_STREAM),
                rng=random_stream(seed, number, POLICY_STREAM),
                undelayed=entry(spec).undelayed,
                stop=stop,
                player=player,
            )
            traces.append(trace)
        return traces

    traces: list[list[RunTrace]] = [[] for _ in range(runs)]
    workers = min(runs, threads or _cores())
    with progress_bar(f"{len(chosen)} × {runs} runs", runs, shown=progress) as advance:
        if workers == 1:
            for number in range(runs):
                traces[number] = one_run(number)
                advance(1)
        else:
            for number, trace in _in_threads(one_run, runs, workers, stop):
                traces[number] = trace
                advance(1)
    made_by = provenance()
    batches = Batches()
    for index, spec in enumerate(chosen):
        batches[str(spec)] = _collected(
            spec, scenario, horizon, seed, rounds, [row[index] for row in traces], made_by
        )
    return next(iter(batches.values())) if single else batches


def _in_threads(
    one_run: Callable[[int], list[RunTrace]], runs: int, workers: int, stop: Bools
) -> Iterator[tuple[int, list[RunTrace]]]:
    """Yield the traces of each run as it ends; an interrupt ends those under way, too."""
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(one_run, number): number for number in range(runs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            stop[0] = True
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _player(spec: Spec, scenario: Scenario, horizon: int, *, compiled: bool) -> Callable[..., int]:
    """Return the function that plays rounds of this policy, refusing what it does not accept."""
    state = start(spec, scenario.problem(horizon))
    if not compiled:
        return play_rounds
    try:
        from foretell.sim.compiled import compiled_player
    except ImportError as error:
        raise MissingExtra(
            "the compiled simulator needs numba, which is not installed: "
            "pip install 'foretell[lab]', or pass compiled=False"
        ) from error
    return compiled_player(type(state))


def _collected(
    spec: Spec,
    scenario: Scenario,
    horizon: int,
    seed: int,
    rounds: Ints,
    traces: list[RunTrace],
    made_by: dict[str, str],
) -> Batch:
    traced = None
    if traces[0].actions.size:
        scale = scenario.scale
        traced = Trajectories(
            np.stack([trace.actions for trace in traces]),
            np.stack([trace.signals for trace in traces]),
            scale.low + scale.width * np.stack([trace.rewards for trace in traces]),
            np.stack([trace.delays for trace in traces]),
        )
    return Batch(
        spec=spec,
        scenario=scenario,
        horizon=horizon,
        seed=seed,
        rounds=rounds,
        regret=np.stack([trace.regret for trace in traces]),
        actions=np.stack([trace.pulls for trace in traces]),
        provenance=made_by,
        trajectories=traced,
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


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
