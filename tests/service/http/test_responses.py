"""HEAD without content, streams that end with their client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message

from foretell.service.http.responses import Response, send_response
from tests.service.http.conftest import Served
from tests.service.http.fake_engine import FakeEngine

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def test_head_is_get_without_its_body(served: Served) -> None:
    served.decision()
    for path in ("/livez", "/v1/campaigns", "/v1/campaigns/hero", "/docs"):
        head, get = served.call("HEAD", path), served.call("GET", path)
        assert head.status_code == get.status_code == 200
        assert head.content == b""
        assert head.headers["content-type"] == get.headers["content-type"]
        assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize("path", ["/v1/backup", "/v1/campaigns/hero/export?format=parquet"])
def test_head_of_a_file_writes_no_file(
    broken: Served, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken.decision()
    get = broken.call("GET", path)
    monkeypatch.setattr(FakeEngine, "scratch_folder", None)
    head = broken.call("HEAD", path)
    assert head.status_code == 200
    assert head.content == b""
    for name in ("content-type", "content-disposition"):
        assert head.headers[name] == get.headers[name]


def test_who_goes_away_is_sent_no_more(broken: Served) -> None:
    """An endless content ends when its client is gone, and lets go of what is behind it."""
    closed = []

    async def endless() -> AsyncGenerator[bytes]:
        try:
            while True:
                yield b"piece"
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        return None

    asyncio.run(send_response(Response(200, endless()), "export", "GET", receive, send))
    assert closed == [True]
