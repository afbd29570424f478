"""An engine that a test drives call by call, on a clock that only the test moves."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Self, TypeVar
from unittest import mock

import msgspec

from foretell import protocol
from foretell.policies.state import fingerprint
from foretell.service.engine import Engine, clock
from foretell.service.engine.replay import decision_loader, rebuild, run_to_end
from foretell.service.model.campaign import Campaign

T = TypeVar("T")
START = 1_700_000_000_000_000
SECOND = 1_000_000
GRID = 10_000
"""Windows close on whole multiples of so many microseconds."""


class Machine:
    """The machine's clock, in microseconds: only a test moves it."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> int:
        return self.time


class Served:
    """A server without its web face: every call is awaited until it is on disk."""

    def __init__(self, path: Path, machine: Machine | None = None, **options: Any) -> None:
        self.path = path
        self.machine = machine or Machine()
        self.options = options
        self.crashes = 0
        self._patch = mock.patch.object(clock, "_wall_clock", self.machine)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._patch.start()
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.run(self.engine.close())
        finally:
            self._runner.close()
            self._patch.stop()

    def _open(self) -> None:
        self.engine = self.run(Engine.open(self.path, **self.options))

    def run(self, calls: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(calls)

    def pass_time(self, seconds: float) -> None:
        self.machine.time += round(seconds * SECOND)

    def restart(self) -> None:
        """Close, and open again."""
        self.run(self.engine.close())
        self._open()

    def crash(self) -> None:
        """Go on with the files as they are at this moment, and no word to the engine."""
        self.crashes += 1
        copy = self.path.with_name(f"crash-{self.crashes}.db")
        for ending in ("", "-wal"):
            source = Path(f"{self.path}{ending}")
            if source.exists():
                shutil.copyfile(source, f"{copy}{ending}")
        self.run(_drop(self.engine))
        self.path = copy
        self._open()

    def create(self, name: str = "c", **fields: Any) -> protocol.CampaignView:
        given = {"actions": ["a", "b"], "signals": ["click", "buy"], "policy": "ucb"} | fields
        return self.run(
            self.engine.create(msgspec.convert({"name": name} | given, protocol.NewCampaign))
        )

    def patch(self, name: str = "c", **fields: Any) -> protocol.CampaignView:
        return self.run(self.engine.patch(name, msgspec.convert(fields, protocol.CampaignPatch)))

    def add_action(self, action: str, name: str = "c") -> protocol.CampaignView:
        return self.run(self.engine.add_action(name, protocol.NewAction(action)))

    def set_action(self, action: str, status: str, name: str = "c") -> protocol.CampaignView:
        patch = msgspec.convert({"status": status}, protocol.ActionPatch)
        return self.run(self.engine.patch_action(name, action, patch))

    def decide(self, name: str = "c", **ask: Any) -> protocol.DecisionAnswer:
        return self.run(self.engine.decide(name, protocol.DecisionRequest(**ask)))[0]

    def decide_many(self, count: int, name: str = "c", **ask: Any) -> list[protocol.DecisionAnswer]:
        """Ask for many decisions at once."""

        async def all_of_them() -> list[tuple[protocol.DecisionAnswer, bool]]:
            return await asyncio.gather(
                *(self.engine.decide(name, protocol.DecisionRequest(**ask)) for _ in range(count))
            )

        return [answer for answer, _ in self.run(all_of_them())]

    def signal(self, decision: str, signal: str, event_id: str | None = None, **more: Any) -> str:
        report = protocol.SignalReport(signal, event_id, **more)
        return self.run(self.engine.signal(decision, report)).status

    def reward(
        self, decision: str, value: float | None, event_id: str | None = None, **more: Any
    ) -> str:
        report = protocol.RewardReport(value, event_id=event_id, **more)
        return self.run(self.engine.reward(decision, report)).status

    def batch(self, items: list[dict[str, Any]]) -> list[protocol.Receipt]:
        return self.run(self.engine.batch([msgspec.Raw(msgspec.json.encode(one)) for one in items]))

    def history(self, decision: str) -> protocol.DecisionHistory:
        return self.run(self.engine.history(decision))

    def report(self, name: str = "c") -> protocol.CampaignReport:
        return self.run(self.engine.report(name))

    def records(self, name: str = "c") -> list[protocol.RecordView]:
        return self.run(self.engine.record_page(name, 0, 1_000_000)).events

    def campaign(self, name: str = "c") -> Campaign:
        """Return a campaign with every window closed that is due."""
        active = self.engine.runtime.by_name[name]
        active.campaign.advance(
            self.engine.runtime.clock.now(), decision_loader(self.engine.runtime.log, active.number)
        )
        return active.campaign

    def state(self, name: str = "c") -> Any:
        return self.campaign(name).state

    def fingerprint(self, name: str = "c") -> bytes:
        return fingerprint(self.state(name))

    def digest(self, name: str = "c") -> str:
        return self.campaign(name).digest()

    def rebuilt(self, name: str = "c") -> Campaign:
        """Return the campaign rebuilt from the log alone, at this moment."""
        log, number = self.engine.runtime.log, self.engine.runtime.by_name[name].number
        campaign = run_to_end(rebuild(log, number))
        campaign.advance(self.engine.runtime.clock.now(), decision_loader(log, number))
        return campaign


async def _drop(engine: Engine) -> None:
    for task in engine.tasks:
        task.cancel()
    await asyncio.gather(*engine.tasks, return_exceptions=True)
    committer = engine.runtime.log.committer
    committer._work.put("stop")
    await asyncio.to_thread(committer._thread.join)
    engine.runtime.log.reader.close()
    committer.connection.close()
    assert engine._lock is not None
    engine._lock.release()
