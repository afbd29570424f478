"""What was not committed leaves no trace, and the log is not read again because of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import apsw
import msgspec
import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.engine.replay import rebuild
from foretell.service.engine.verify import verify_log
from foretell.service.log import record as records
from foretell.service.log.chain import LINK_EVERY
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import decode_event
from tests.torture.disk import Disk
from tests.torture.faults import failing, quickly, reopened
from tests.torture.verbs import Refused, Within

POLICIES = {"counts": "ucb", "stream": "nsd-adaptive", "sticky": "sw-ts(window=50)"}
READ_AT_MOST = 8 * LINK_EVERY
"""Records that are read when the log is opened again: a few times those since the last link."""


@contextmanager
def counted_reads() -> Iterator[list[int]]:
    """Count the records that are read, in whatever way."""
    read = [0]

    def counted(body: bytes) -> Any:
        read[0] += 1
        return decode_event(body)

    with mock.patch.object(records, "decode_event", counted):
        yield read


async def fill(engine: Engine, decisions: int) -> dict[str, str]:
    """Make the campaigns, with so many decisions each and feedback on them; return one of each."""
    last = {}
    for name, policy in POLICIES.items():
        new = protocol.NewCampaign(name, ["a", "b", "c"], ["click", "buy"], policy)
        new.sticky = name == "sticky"
        await engine.create(new)
        asked = [
            engine.decide(name, protocol.DecisionRequest(unit=f"u{number % 50}"))
            for number in range(decisions)
        ]
        ids = [answer.decision_id for answer, _ in await asyncio.gather(*asked)]
        events = [
            {"decision_id": one, "signal": "click", "event_id": f"s{number}"}
            for number, one in enumerate(ids)
        ] + [
            {"decision_id": one, "value": number % 3 / 2, "event_id": f"r{number}"}
            for number, one in enumerate(ids)
        ]
        await engine.batch([msgspec.Raw(msgspec.json.encode(event)) for event in events])
        last[name] = ids[-1]
    return last


def requests(decisions: dict[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """Return what is asked for while the disk fails: everything that writes."""
    asked: list[tuple[str, dict[str, Any]]] = []
    for name, decision in decisions.items():
        asked += [
            ("decide", {"campaign": name, "ask": {"decision_key": f"k{number}", "unit": "new"}})
            for number in range(5)
        ]
        asked.append(("decide", {"campaign": name, "ask": {"unit": "new", "decision_key": "u"}}))
        asked.append(("signal", {"id": decision, "report": {"signal": "buy", "event_id": "s"}}))
        asked.append(("reward", {"id": decision, "report": {"value": 0.5, "event_id": "r"}}))
        events = [
            {"decision_id": decision, "value": 1.0, "event_id": f"b{number}"} for number in range(9)
        ]
        asked.append(("batch", {"events": events}))
        asked.append(("void", {"id": decision, "report": {"event_id": "v"}}))
    return asked


async def known(engine: Engine) -> dict[str, Any]:
    """Return all that can be known of the campaigns, but for the time; and their next choices."""
    found: dict[str, Any] = {}
    for name in POLICIES:
        report = await engine.report(name)
        active = engine.runtime.find(name)
        found[f"report {name}"] = (report.counts, report.actions, report.signals)
        found[f"state {name}"] = report.log.state_hash
        found[f"next {name}"] = [choice_of(active, nonce) for nonce in range(40)]
        found[f"round {name}"] = active.overlay.t
    return found


def choice_of(active: ActiveCampaign, nonce: int) -> tuple[int, float, str]:
    """Return what would be chosen now, not by a table that was kept."""
    active.decider.forget()
    return active.decider.choose(active.overlay, active.choosable, nonce)[:3]


async def ask_all(service: Within, asked: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Ask everything at once; an answer may be the status of a refusal."""

    async def ask(verb: str, body: dict[str, Any]) -> Any:
        try:
            return await service.call(verb, body)
        except Refused as refused:
            return refused.status

    return await asyncio.gather(*(ask(*one) for one in asked))


@pytest.mark.parametrize("size", [100, 1500])
@pytest.mark.parametrize("kind", [apsw.IOError, apsw.FullError])
def test_a_commit_that_fails_leaves_no_trace_and_nothing_is_read_again(
    folder: Path, size: int, kind: type[apsw.Error]
) -> None:
    async def run() -> None:
        path = folder / "live.db"
        disk = Disk(path)
        with quickly():
            engine = await Engine.open(path, vfs=disk.name, compiled=False)
            decisions = await fill(engine, size)
            asked = requests(decisions)
            before = await known(engine)
            await engine.settled()
            with counted_reads() as read:
                disk.fault = failing("write", "-wal", 0, 10**9, kind)
                answers = await ask_all(Within(engine), asked)
                disk.fault = lambda *_: None
                assert set(answers) == {503}
                assert await reopened(engine)
                await engine.settled()
            assert read[0] <= READ_AT_MOST
            assert await known(engine) == before
            again = await ask_all(Within(engine), asked)
            assert 503 not in again
            assert "duplicate" not in again
            await check(engine)
            await engine.close()
        disk.unregister()

    asyncio.run(run())


@pytest.mark.parametrize("size", [100, 1500])
def test_a_commit_that_nobody_knows_of_is_counted_once_when_it_is_there(
    folder: Path, size: int
) -> None:
    async def run() -> None:
        path = folder / "live.db"
        disk = Disk(path)
        with quickly():
            engine = await Engine.open(path, vfs=disk.name, compiled=False)
            asked = requests(await fill(engine, size))
            await engine.settled()
            with counted_reads() as read:
                disk.fault = failing("sync", "-wal", 0, 1, apsw.IOError)
                answers = await ask_all(Within(engine), asked)
                assert 503 in answers
                assert await reopened(engine)
                await engine.settled()
            assert read[0] <= READ_AT_MOST
            again = await ask_all(Within(engine), asked)
            assert 503 not in again
            for name in POLICIES:
                counts = (await engine.report(name)).counts
                assert (counts.decisions, counts.voided) == (size + 6, 1)
                assert (counts.signals, counts.rewards) == (size + 1, size + 10)
            await check(engine)
            await engine.close()
        disk.unregister()

    asyncio.run(run())


async def check(engine: Engine) -> None:
    """Compare what is served with the log, and the log with itself."""
    log = engine.runtime.log
    for active in engine.runtime.by_number.values():
        report = await engine.report(active.config.name)
        position = int(report.log.position)
        assert (await rebuild(log, active.number, position)).digest() == report.log.state_hash
    with log.reader() as reader:
        assert (await verify_log(reader)).damage == []
