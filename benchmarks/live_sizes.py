"""Large campaigns and refits: what they cost, and how long others wait meanwhile.

Called as a program it prints one of the measurements as JSON: `sizes` or `turns` with numba
(`compiled`) or without it (`plain`), or `records` for refit and fold. All is CPU time of the
process, or of the event loop's thread where others wait for its turn: the machine is shared.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from asyncio.events import Handle
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
from msgspec import Raw

from benchmarks.measure import BenchmarkResult
from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.engine.replay import (
    close_windows,
    configurations_of,
    fold,
    prefetch,
    refit_from_log,
)
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import stamp
from foretell.service.server import SWITCH_SECONDS
from foretell.sim.replayer import MANY_DECISIONS, refit_reader

TURNS, DECISIONS = 5, 200
READ = {"compiled": 60_000, "plain": 20_000}
"""Decisions of the log that is read again, with their feedback, with numba and without."""
FOLDED = 10_000
"""Records that are folded, and then every window of theirs is closed."""
PAUSE_SECONDS = 0.002
"""Pause between two decisions whose latency is measured."""
POLICIES = ("nsd-adaptive", "nsd-kl") * 4
"""A refit takes a second or two: in one there are too few decisions for their p99."""
BATCH = 2000
KEY = "ftk_the-key-of-the-benchmark"


def live_sizes() -> BenchmarkResult:
    """Measure large campaigns and refits, each in a process of its own."""
    result = BenchmarkResult("Large campaigns and refits of the live service")
    for kind in ("plain", "compiled"):
        name = "with numba" if kind == "compiled" else "without numba"
        found = _measured("sizes", kind)
        for what, more in found["more"].items():
            result.at_most(
                f"eligible 20 of 1,000 actions over 20 actions, {what}, {name}", more, 0.5, " ms"
            )
        what = f"first decision of 10,000 x 20, {name}"
        result.at_most(what, found["first"], 1.0, " s")
        result.at_most(f"longest turn of the event loop meanwhile, {name}", found["held"], 5, " ms")
    for what, held in _measured("turns", "plain").items():
        result.at_most(f"longest turn of the event loop: {what}", held, 2, " ms")
    found = _measured("records", "compiled")
    result.at_most("refit, nsd-adaptive, CPU a record", found["refit"], 8, " µs")
    plain = _measured("records", "plain")
    what = "refit, nsd-adaptive, without numba, CPU a record"
    result.add(what, f"{plain['refit']:.3g} µs", plain["refit"])
    result.at_most("fold of new records, nsd-adaptive, CPU a record", found["fold"], 60, " µs")
    what = "p99 of decisions of another campaign during a refit, over that without one"
    result.at_most(what, found["slower"], 2.0)
    return result


def _measured(what: str, kind: str) -> Any:
    called = [sys.executable, "-m", "benchmarks.live_sizes", what, kind]
    return json.loads(subprocess.run(called, check=True, capture_output=True).stdout)


def _campaign(name: str, actions: int, signals: int, **fields: Any) -> protocol.NewCampaign:
    new = {
        "name": name,
        "actions": [f"a{number}" for number in range(actions)],
        "signals": ["none", *(f"s{number}" for number in range(1, signals))],
    }
    return msgspec.convert(new | fields, protocol.NewCampaign)


@asynccontextmanager
async def _engine(kind: str) -> AsyncIterator[Engine]:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        compiled = kind == "compiled"
        engine = await Engine.open(
            f"{folder}/a.db", admin_key=KEY, durability="relaxed", compiled=compiled
        )
        try:
            yield engine
        finally:
            await engine.close()


class _Turns:
    """The longest turn of the event loop, in CPU seconds of its thread."""

    longest = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Time every callback that the loop runs."""
        loop_handle: Any = Handle
        run = loop_handle._run  # noqa: SLF001  (every callback goes through it)

        def timed(handle: Handle) -> None:
            began = time.thread_time()
            run(handle)
            self.longest = max(self.longest, time.thread_time() - began)

        loop_handle._run = timed  # noqa: SLF001
        try:
            yield
        finally:
            loop_handle._run = run  # noqa: SLF001


async def _sizes(kind: str) -> dict[str, Any]:
    """Compare random sets of 20 actions out of 1,000 with 20 actions, and make a huge campaign."""
    rng = random.Random(1)  # noqa: S311  (not for secrets)
    unknown = {"signal_silence": "unknown", "reward_silence": "unknown"}
    async with _engine(kind) as engine:
        await engine.create(_campaign("small", 20, 5, **unknown))
        await engine.create(_campaign("large", 1000, 5, **unknown))
        names = engine.runtime.by_name["large"].config.actions
        for name, times in (("small", 100), ("large", 300)):
            for _ in range(times):
                ask = protocol.DecisionRequest(
                    eligible=rng.sample(names, 20) if name == "large" else None
                )
                answer, _ = await engine.decide(name, ask)
                await engine.feedback(answer.decision_id, protocol.SignalReport("s1"))
        found: dict[str, float] = {}
        for what in ("believed", "doubted"):
            if what == "doubted":
                for name in ("small", "large"):
                    engine.runtime.by_name[name].campaign.state.residual.evidence[:] = 100.0
            more = [await _more(engine, rng, names) for _ in range(TURNS)]
            found[what] = statistics.median(more)
        turns, began = _Turns(), time.perf_counter()
        with turns.watched():
            await engine.create(_campaign("huge", 10_000, 20))
            made = time.perf_counter()
            await engine.decide("huge", protocol.DecisionRequest())
        first = time.perf_counter() - made
        return {
            "more": found,
            "first": first,
            "made": made - began,
            "held": 1000 * turns.longest,
        }


async def _more(engine: Engine, rng: random.Random, names: tuple[str, ...]) -> float:
    """Return the milliseconds of CPU that a decision takes longer among 1,000 actions."""
    spent = {}
    for name in ("small", "large"):
        asks = [
            protocol.DecisionRequest(eligible=rng.sample(names, 20) if name == "large" else None)
            for _ in range(DECISIONS)
        ]
        began = time.process_time()
        for ask in asks:
            await engine.decide(name, ask)
        spent[name] = 1000 * (time.process_time() - began) / DECISIONS
    return spent["large"] - spent["small"]


async def _turns(kind: str) -> dict[str, float]:
    """Return the longest turn of the loop during work that is large, in milliseconds.

    All is done a few times, and the least is taken: what the work itself takes is in each.
    """
    gc.freeze()  # as the server does when it has started
    times = [await _turns_once(kind) for _ in range(TURNS)]
    return {what: min(one[what] for one in times) for what in times[0]}


async def _turns_once(kind: str) -> dict[str, float]:
    found = {}
    async with _engine(kind) as engine:
        await engine.create(_campaign("c", 5, 3, signal_window=60.0, reward_window=90.0))
        ids = []
        for _ in range(BATCH // 100):
            asked = [engine.decide("c", protocol.DecisionRequest()) for _ in range(100)]
            ids += [answer.decision_id for answer, _ in await asyncio.gather(*asked)]
        events = [
            Raw(json.dumps({"decision_id": one, "signal": "s1", "event_id": f"s{n}"}).encode())
            for n, one in enumerate(ids)
        ]
        turns = _Turns()
        with turns.watched():
            await engine.batch(events)
            await engine.settled()
        found["a batch of 2,000 events and its fold"] = 1000 * turns.longest
        turns = _Turns()
        with turns.watched():
            async for _ in engine.export("c"):
                pass
        found["an export of 4,000 records"] = 1000 * turns.longest
        turns = _Turns()
        with turns.watched():
            await engine.patch("c", protocol.CampaignPatch(policy="nsd-psrl-cp"))
        found["a change of policy over 4,000 records"] = 1000 * turns.longest
    return found


async def _records(kind: str) -> dict[str, float]:
    """Return the microseconds of CPU that a record takes in a refit, and, compiled, in the fold."""
    rng = random.Random(1)  # noqa: S311  (not for secrets)
    windows = {"signal_window": 1.0, "reward_window": 1.5}
    if kind == "plain":
        modules: dict[str, Any] = sys.modules
        modules["numba"] = None  # as if it were not installed
    async with _engine(kind) as engine:
        await engine.create(_campaign("c", 5, 3, policy="uniform", **windows))
        for first in range(0, READ[kind], 1000):
            asked = [engine.decide("c", protocol.DecisionRequest()) for _ in range(1000)]
            answers = [answer for answer, _ in await asyncio.gather(*asked)]
            await engine.batch(list(_feedback(rng, first, answers)))
        await asyncio.sleep(2.0)  # until every window is due: what the fold takes is not counted
        await engine.settled()
        log, position = engine.runtime.log, engine.runtime.log.now()
        config = (await configurations_of(log, 1))[-1][1].config
        config = msgspec.structs.replace(config, policy="nsd-adaptive")
        counts = engine.runtime.by_name["c"].campaign.counters.counts
        refit_reader(Campaign(config).state, MANY_DECISIONS)  # if at all, it is compiled now
        spent = time.process_time()
        await refit_from_log(log, 1, config, position)
        refit = 1e6 * (time.process_time() - spent) / sum(counts[:3])
        if kind == "plain":
            return {"refit": refit}
        made, *records = await log.records(0, position, FOLDED, 1)
        campaign = Campaign(config)
        campaign.position = made.seq
        spent = time.process_time()
        for start in range(0, len(records), 64):
            some = records[start : start + 64]
            await prefetch(campaign, some, log)
            for record in some:
                await fold(campaign, record, log)
        await close_windows(campaign, 1, stamp(records[-1].recorded_at + 10_000_000), log)
        folded = 1e6 * (time.process_time() - spent) / len(records)
        return {"refit": refit, "fold": folded, "slower": await _slower(engine)}


async def _slower(engine: Engine) -> float:
    """Return the p99 of decisions of another campaign during a refit over that without one."""
    await engine.create(_campaign("other", 5, 3))
    gc.freeze()  # as the server does when it has started

    async def decide() -> float:
        await asyncio.sleep(PAUSE_SECONDS)
        began = time.perf_counter()
        await engine.decide("other", protocol.DecisionRequest())
        return time.perf_counter() - began

    alone, during = [], []
    for policy in POLICIES:
        alone += [await decide() for _ in range(DECISIONS)]
        await engine.patch("c", protocol.CampaignPatch(policy=policy), wait=False)
        while engine.runtime.by_name["c"].refitting:
            during.append(await decide())
    return statistics.quantiles(during, n=100)[98] / statistics.quantiles(alone, n=100)[98]


def _feedback(
    rng: random.Random, first: int, answers: list[protocol.DecisionAnswer]
) -> Iterator[Raw]:
    for number, answer in enumerate(answers, first):
        share = 0.2 + 0.15 * int(answer.action[1:])
        signal = int(rng.random() < share) * rng.choice((1, 2))
        about = {"decision_id": answer.decision_id}
        if signal:
            event = {**about, "signal": f"s{signal}", "event_id": f"s{number}"}
            yield Raw(json.dumps(event).encode())
        if signal and rng.random() < 0.3 * signal:
            yield Raw(json.dumps({**about, "value": 1.0, "event_id": f"r{number}"}).encode())


if __name__ == "__main__":
    sys.setswitchinterval(SWITCH_SECONDS)
    work = {"sizes": _sizes, "turns": _turns, "records": _records}[sys.argv[1]]
    sys.stdout.write(json.dumps(asyncio.run(work(sys.argv[2]))))
