"""What a campaign has come to, and the pages of its log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from foretell.service.http.call import Call, Reply, encode
from foretell.service.http.operation import Handler
from foretell.service.http.service import Service


def table_of(read: Callable[[Service, str], Awaitable[Struct]]) -> Handler:
    """Make the handler that shows what `read` gives for a campaign."""

    async def handler(call: Call) -> Reply:
        return Reply(200, encode(await read(call.engine, call.params["campaign"])))

    return handler


async def record_page(call: Call) -> Reply:
    """Return lines of the log, and where to go on."""
    page = await call.engine.record_page(
        call.params["campaign"], call.query.after, call.query.limit
    )
    return Reply(200, encode(page))
