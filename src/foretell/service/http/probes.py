"""What needs no key: probes, metrics and the description of the service."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST

from foretell import protocol
from foretell.service.http.call import Call, Reply, encode
from foretell.service.model.errors import LogClosed

_ALIVE = encode(protocol.Health("ok"))
_PAGE_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    (b"x-content-type-options", b"nosniff"),
)


async def livez(_: Call) -> Reply:
    """Say that the process runs."""
    return Reply(200, _ALIVE)


async def readyz(call: Call) -> Reply:
    """Return whether the log can be written."""
    health = call.engine.health()
    if health.status != "ok":
        raise LogClosed(health.detail or "the log cannot be written")
    return Reply(200, encode(health))


async def metrics(call: Call) -> Reply:
    """Return every metric."""
    return Reply(200, call.shared.metrics.text(), media=CONTENT_TYPE_LATEST.encode())


async def openapi(call: Call) -> Reply:
    """Return the OpenAPI document."""
    return Reply(200, call.shared.document)


async def docs(call: Call) -> Reply:
    """Show the OpenAPI document as a page that loads nothing from anywhere."""
    return Reply(200, call.shared.page, _PAGE_HEADERS, b"text/html; charset=utf-8")
