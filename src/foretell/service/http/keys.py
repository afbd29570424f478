"""Keys: made, listed without their secrets, revoked."""

from __future__ import annotations

from foretell import protocol
from foretell.service.http.call import Call, Reply, encode


async def make(call: Call) -> Reply:
    """Make a key; this answer is the only place where it can be read."""
    made = await call.engine.make_key(call.body)
    return Reply(201, encode(made), ((b"location", f"/v1/keys/{made.id}".encode()),))


async def show_all(call: Call) -> Reply:
    """List the valid keys."""
    return Reply(200, encode(protocol.KeyList(call.engine.keys())))


async def rotate(call: Call) -> Reply:
    """Sign decision ids with a new secret."""
    return Reply(201, encode(await call.engine.rotate()))


async def revoke(call: Call) -> Reply:
    """Make a key invalid."""
    await call.engine.revoke_key(call.params["key_id"])
    return Reply(204)
