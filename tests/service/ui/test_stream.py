"""The stream of a page: it lasts as long as its session, and no session or key takes all."""

from __future__ import annotations

import asyncio
import time

import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.memory import MemoryLog
from foretell.service.model.errors import Overloaded
from foretell.service.ui import stream
from foretell.service.ui.stream import MOST_OF_KEY, MOST_OF_SESSION, MOST_STREAMS, LogPulse
from tests.service.ui.dashboard import Dashboard


async def session_of(engine: Engine, name: str) -> tuple[str, str]:
    """Return a session, and the id of its key."""
    made = await engine.make_key(protocol.NewKey(name, ["read"]))
    caller = engine.identify(made.key)
    assert caller is not None
    return await engine.open_session(caller, int(time.time()) + 60), made.id


def test_one_session_leaves_room_for_the_pages_of_others() -> None:
    async def law() -> None:
        engine = await Engine.open(MemoryLog(), compiled=False)
        pulse = LogPulse(engine, lambda: False)
        (one, key), (other, other_key) = [await session_of(engine, name) for name in "ab"]
        pages = [pulse.events(one, key) for _ in range(MOST_OF_SESSION)]
        for page in pages:
            pulse.check_room(one, key)
            await anext(page)
        with pytest.raises(Overloaded, match="close one"):
            pulse.check_room(one, key)
        pulse.check_room(other, other_key)
        await pages[0].aclose()
        pulse.check_room(one, key)
        for page in pages:
            await page.aclose()
        assert pulse.open == 0
        await engine.close()

    asyncio.run(law())


def test_one_key_leaves_room_for_the_pages_of_others_however_many_sessions_it_has() -> None:
    async def law() -> None:
        engine = await Engine.open(MemoryLog(), compiled=False)
        pulse = LogPulse(engine, lambda: False)
        caller = engine.identify((await engine.make_key(protocol.NewKey("a", ["read"]))).key)
        assert caller is not None
        key, until = caller.author.id, int(time.time()) + 60
        pages = []
        for _ in range(MOST_OF_KEY):
            session = await engine.open_session(caller, until)
            pulse.check_room(session, key)
            pages.append(pulse.events(session, key))
            await anext(pages[-1])
        session = await engine.open_session(caller, until)
        with pytest.raises(Overloaded, match=f"{MOST_OF_KEY} pages are open with your key"):
            pulse.check_room(session, key)
        other = await session_of(engine, "b")
        pulse.check_room(*other)
        assert 2 * MOST_OF_KEY < MOST_STREAMS
        await pages[0].aclose()
        pulse.check_room(session, key)
        for page in pages:
            await page.aclose()
        assert not pulse._of_key
        await engine.close()

    asyncio.run(law())


def test_a_page_that_has_no_room_is_told_when_to_come_again(
    served: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "MOST_OF_KEY", 0)
    refused = served.get("/ui/stream")
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"


def test_a_stream_ends_with_the_key_of_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LOOK_SECONDS", 0.0)

    async def law() -> None:
        engine = await Engine.open(MemoryLog(), compiled=False)
        session, key = await session_of(engine, "a")
        pulse = LogPulse(engine, lambda: False)
        page = pulse.events(session, key)
        await anext(page)
        await engine.revoke_key(key)
        assert [event async for event in page if event] == []
        assert pulse.open == 0
        await engine.close()

    asyncio.run(law())


def test_a_change_is_told_at_once_and_traffic_in_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(stream, "BEAT_LOOKS", 10**9)

    async def law() -> None:
        engine = await Engine.open(MemoryLog(), compiled=False)
        await engine.create(protocol.NewCampaign("hero", ["a", "b"], ["none", "click"]))
        session, key = await session_of(engine, "a")
        page = LogPulse(engine, lambda: False).events(session, key)
        told = (event.split(b"\n")[0] async for event in page if event.startswith(b"event"))
        assert [await anext(page), await anext(page)] == [stream.RETRY, b""]
        await engine.decide("hero", protocol.DecisionRequest())
        assert await anext(told) == b"event: moved"
        await engine.set_status("hero", "paused", None, None)
        assert await anext(told) == b"event: changed"
        await page.aclose()
        await engine.close()

    asyncio.run(law())


def test_a_stream_says_that_the_log_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LOOK_SECONDS", 0.0)

    async def law() -> None:
        log = MemoryLog()
        engine = await Engine.open(log, compiled=False)
        session, _ = await session_of(engine, "a")
        page = LogPulse(engine, lambda: False).events(session, "key")
        assert [await anext(page), await anext(page)] == [stream.RETRY, b""]
        for why in ("the disk is full", None):
            log.closed = why
            told = b""
            while not told.startswith(b"event: changed"):
                told = await anext(page)
            assert (b'"closed":true' in told) == (why is not None)
        await page.aclose()
        await engine.close()

    asyncio.run(law())
