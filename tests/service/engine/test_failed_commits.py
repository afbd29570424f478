"""A decision whose record could not be written leaves no trace."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from foretell import protocol
from foretell.policies.state import fingerprint
from foretell.service.engine import Engine
from foretell.service.log.errors import LogClosed
from foretell.service.log.memory import MemoryLog
from foretell.service.log.protocol import Tail
from foretell.service.log.sqlite import database
from tests.service.engine_driver import Served


@pytest.mark.parametrize("name", ["ucb", "nsd-kl", "nsd-adaptive", "nsd-psrl"])
def test_what_was_not_committed_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nor is the log read again for it."""
    with Served(tmp_path / "a.db") as served:
        served.create(policy=name)
        served.decide_many(3)
        before = fingerprint(served.state())
        log: Any = served.engine.runtime.log
        reads: list[int] = []

        async def fail(_: object) -> None:
            raise LogClosed("the disk is full: try again soon")

        async def counted(*_: object, **__: object) -> list[Any]:
            reads.append(1)
            return []

        with monkeypatch.context() as broken:
            broken.setattr(log, "append", fail)
            for reading in ("records", "decisions", "decisions_after"):
                broken.setattr(log, reading, counted)

            async def fails() -> int:
                failed = 0
                for _ in range(20):
                    try:
                        await served.engine.decide("c", protocol.DecisionRequest())
                    except LogClosed:
                        failed += 1
                return failed

            assert served.run(fails()) == 20
        active = served.engine.runtime.by_name["c"]
        assert active.overlay.state() is active.campaign.state
        assert active.overlay.t == active.campaign.decided == 3
        assert fingerprint(served.state()) == before
        assert isinstance(log, MemoryLog) or not reads, "in memory, the tail itself reads records"
        served.decide()
        assert served.campaign().decided == 4
        assert served.digest() == served.rebuilt().digest()


@pytest.mark.parametrize("stalled", [False, True])
def test_a_secret_whose_commit_nobody_heard_of_signs_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stalled: bool
) -> None:
    """What was written and not answered is in force before the log opens again."""
    monkeypatch.setattr(database, "REOPEN_SECONDS", 0.01)

    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db", compiled=False)
        await engine.create(protocol.NewCampaign("c", ["a", "b"], ["none", "click"], policy="ucb"))
        log: Any = engine.runtime.log
        follow = engine.fold._take

        async def slowly(tail: Tail) -> None:
            await asyncio.sleep(0.2)
            await follow(tail)

        engine.fold._take = slowly  # type: ignore[method-assign]
        writer = log._database._writer
        tell = writer._call_loop

        def not_told(function: Any, argument: Any) -> None:
            writer._call_loop = tell
            if stalled:
                writer._loop.call_soon_threadsafe(log._database.stall, 10)
                tell(function, argument)
            else:
                tell(writer._on_fail, OSError("the answer is lost"))

        writer._call_loop = not_told
        with pytest.raises(LogClosed):
            await engine.rotate()
        request, answer = protocol.DecisionRequest(decision_key="k"), None
        while answer is None:
            with suppress(LogClosed):
                answer, _ = await engine.decide("c", request)
            await asyncio.sleep(0)
        await engine.settled()
        assert len(engine.runtime.secrets) == 2
        again, _ = await engine.decide("c", request)
        assert again == answer
        await engine.close()

    asyncio.run(run())


def test_a_state_is_not_saved_while_only_some_windows_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log fails while windows close: what is saved next is still the state of its position."""
    with Served(tmp_path / "a.db") as served:
        served.create(policy="nsd-ucrl2", signal_window=10, reward_window=100)
        for _ in range(4):
            served.decide_many(64)
            served.pass_time(0.5)
        log, campaign = served.engine.runtime.log, served.campaign()
        read = log.decisions_after
        failures = iter((False, True))
        for number in list(campaign.cache._by_number)[64:]:  # those are read when they are needed
            del campaign.cache._by_rank[campaign.cache._by_number.pop(number).rank]
        campaign._next = [None, None]

        async def fail_once(*asked: Any) -> list[Any]:
            if next(failures, False):
                served.engine.runtime.by_name["c"].save_due = True
                raise LogClosed("the disk is away: try again soon")
            return await read(*asked)

        monkeypatch.setattr(log, "decisions_after", fail_once)
        served.pass_time(20)
        served.save_states()
        assert next(failures, None) is None, "it has failed while windows closed"
        served.pass_time(1)
        served.run(served.engine.settled())
        assert served.digest() == served.rebuilt().digest()
        assert not served.verify().damage
