"""Two deciders on one PostgreSQL: how soon one has what the other has folded, and takes its place.

Both run in this process, with the usual poll, beat and lease. One of them folds the campaign. What
is decided there is timed until the other has taken over a state that holds it. Then the one that
folds crashes, and it is timed until the other folds.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from functools import partial

from benchmarks.measure import BenchmarkResult
from benchmarks.postgres_process import postgres_process
from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.model.active_campaign import ActiveCampaign

DECISIONS = 200
CRASHES = 3
CAMPAIGN = protocol.NewCampaign(
    "shared", [f"a{n}" for n in range(5)], ["none", "click", "download"], holdout=0.1
)


def live_deciders() -> BenchmarkResult:
    """Measure how soon a state is taken over, and a decider that is gone."""
    result = BenchmarkResult("Two deciders on one PostgreSQL, one folds for both")
    with postgres_process() as server:
        asyncio.run(_measure(result, server.dsn))
    return result


async def _measure(result: BenchmarkResult, dsn: str) -> None:
    engines = [await Engine.open(dsn, compiled=False) for _ in range(2)]
    await engines[0].create(CAMPAIGN)
    await _until_one_folds(engines)
    taken = statistics.quantiles(await _adoptions(engines), n=100)
    for share in (50, 99):
        lag = 1000 * taken[share - 1]
        result.add(f"until the other has a state with a decision, p{share}", f"{lag:.3g} ms", lag)
    seconds = [await _takeover(engines, dsn) for _ in range(CRASHES)]
    result.at_most("until the other folds after a crash, longest", max(seconds), 11, " s")
    for engine in engines:
        await engine.close()


async def _takeover(engines: list[Engine], dsn: str) -> float:
    """Let the decider that folds crash, and start another; return when the other one folds."""
    engines.sort(key=lambda one: not _active(one).folding)
    crashing, other = engines
    log, began = crashing.runtime.log, time.perf_counter()
    assert isinstance(log, PostgresLog)
    await log.abandon()
    await _until(lambda: _active(other).folding)
    taken = time.perf_counter() - began
    engines[0] = await Engine.open(dsn, compiled=False)
    await _until_one_folds(engines)
    return taken


async def _adoptions(engines: list[Engine]) -> list[float]:
    """Return for each decision after how many seconds the other decider had it in its state."""
    folding, other = sorted(engines, key=lambda one: not _active(one).folding)
    found: list[float] = []
    for _ in range(DECISIONS):
        began = time.perf_counter()
        await folding.decide("shared", protocol.DecisionRequest())
        await _until(partial(_has_more, other, len(found)))
        found.append(time.perf_counter() - began)
    return found


def _has_more(engine: Engine, decided: int) -> bool:
    return _active(engine).campaign.decided > decided


def _active(engine: Engine) -> ActiveCampaign:
    return engine.runtime.by_name["shared"]


async def _until_one_folds(engines: list[Engine]) -> None:
    await _until(lambda: sum(_active(one).folding for one in engines) == 1)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.001)
