"""The handlers of the service itself: keys, backups, probes, metrics and its description."""

from __future__ import annotations

import asyncio
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST

from foretell import protocol
from foretell.errors import DamagedFile, InvalidInput
from foretell.files import open_private
from foretell.protocol.fields import COPY_KINDS
from foretell.service.http.bodies import next_message
from foretell.service.http.operation import RequestContext
from foretell.service.http.responses import Response, encode, file_response, scratch
from foretell.service.log.errors import Damaged
from foretell.service.model.errors import LogUnavailable, NotFound

COPIES = tuple(kind.media_type.encode() for kind in COPY_KINDS)
BYTES = b"application/octet-stream"
_CHUNK = 1 << 20
_ALIVE = encode(protocol.Health("ok"))
_PAGE_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    (b"x-content-type-options", b"nosniff"),
)


async def make_key(context: RequestContext) -> Response:
    """Make a key; this response is the only place where it can be read."""
    made = await context.engine.make_key(context.body, context.author)
    return Response(201, encode(made), ((b"location", f"/v1/keys/{made.id}".encode()),))


async def list_keys(context: RequestContext) -> Response:
    """List the valid keys."""
    return Response(200, encode(protocol.KeyList(context.engine.keys())))


async def revoke_key(context: RequestContext) -> Response:
    """Make a key invalid."""
    await context.engine.revoke_key(context.params["key_id"], context.author)
    return Response(204)


async def rotate_secret(context: RequestContext) -> Response:
    """Sign decision ids with a new secret."""
    return Response(201, encode(await context.engine.rotate(context.author)))


async def list_secrets(context: RequestContext) -> Response:
    """List the secrets, without what they are."""
    return Response(200, encode(protocol.SecretList(context.engine.secrets())))


async def retire_secret(context: RequestContext) -> Response:
    """Let a secret sign no more, or let its ids not be valid either."""
    written = context.params["secret"]
    if not (written.isascii() and written.isdigit() and len(written) < 4):
        raise NotFound(f"there is no secret {written!r}: list the secrets to see their numbers")
    retired = await context.engine.retire_secret(
        int(written), with_ids=context.query.with_ids, by=context.author
    )
    return Response(200, encode(retired))


async def get_server_events(context: RequestContext) -> Response:
    """Return who made and revoked keys, and changed secrets."""
    page = await context.engine.server_page(context.query.after, context.query.limit)
    return Response(200, encode(page))


async def backup(context: RequestContext) -> Response:
    """Send the whole database as one file, taken while the service runs."""
    engine, method = context.engine, context.scope["method"]
    name, media = f"foretell-backup{engine.copy_kind.ending}", engine.copy_kind.media_type.encode()
    return await file_response(method, engine.scratch_folder, engine.backup, name, media)


async def restore(context: RequestContext) -> Response:
    """Put a backup in place of the database; it may be as large as the disk allows."""
    async with scratch(context.engine.scratch_folder) as folder:
        path = folder / "restore.db"
        try:
            await _save_body(context, path)
            return Response(200, encode(await context.engine.restore(str(path), context.author)))
        except Damaged:  # the log itself, not what was sent
            raise
        except (DamagedFile, InvalidInput) as error:  # its name here means nothing to the sender
            raise type(error)(str(error).replace(repr(str(path)), "what was sent")) from None


async def _save_body(context: RequestContext, path: Path) -> None:
    with open_private(path) as file:
        more, waiting = True, bytearray()
        while more:
            message = await next_message(context.receive)
            waiting += message.get("body", b"")
            more = message.get("more_body", False)
            if len(waiting) >= _CHUNK or not more:
                await asyncio.to_thread(file.write, bytes(waiting))
                waiting.clear()


async def livez(_: RequestContext) -> Response:
    """Say that the process runs."""
    return Response(200, _ALIVE)


async def readyz(context: RequestContext) -> Response:
    """Return whether the log can be written."""
    health = context.engine.health()
    if health.status != "ok":
        raise LogUnavailable(health.detail or "the log cannot be written")
    return Response(200, encode(health))


async def metrics(context: RequestContext) -> Response:
    """Return every metric."""
    return Response(200, await context.state.metrics.text(), media=CONTENT_TYPE_LATEST.encode())


async def openapi(context: RequestContext) -> Response:
    """Return the OpenAPI document."""
    return Response(200, await asyncio.to_thread(context.state.document))


async def docs(context: RequestContext) -> Response:
    """Return the OpenAPI document as a page that loads nothing from anywhere."""
    page = await asyncio.to_thread(context.state.docs_page)
    return Response(200, page, _PAGE_HEADERS, b"text/html; charset=utf-8")
