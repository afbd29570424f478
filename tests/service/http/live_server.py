"""Serve a real engine at a free port, for tests that need a real server.

Call it with a directory and a key: it prints the port once it listens.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import uvicorn

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http import app
from foretell.service.model.errors import Conflict
from foretell.service.model.events import Author

CAMPAIGN = protocol.NewCampaign("home-hero", ["editorial-pick", "sale"], ["none", "view", "click"])


def guard(engine: Engine) -> None:
    """Let an engine keep its first key, secret and campaign, whatever is tried on it."""

    async def revoke_key(key_id: str, by: Author | None = None) -> None:
        """Revoke any key but the first."""
        if key_id == engine.keys()[0].id:
            raise Conflict("this is the first key, which has to stay: revoke another one")
        await engine.access.revoke_key(key_id, by)

    async def set_status(
        name: str,
        status: protocol.CampaignStatus,
        version: int | None = None,
        by: Author | None = None,
    ) -> protocol.CampaignView:
        """Stop any campaign but the first."""
        if (name, status) == (CAMPAIGN.name, "stopped"):
            raise Conflict("this is the first campaign, which has to stay: stop another one")
        return await engine.admin.set_status(name, status, version, by)

    async def retire_secret(
        number: int, *, with_ids: bool, by: Author | None = None
    ) -> protocol.SecretView:
        """Retire any secret with its ids but the first, which has signed the ids in use."""
        if with_ids and number == 0:
            raise Conflict("this is the first secret, whose ids have to stay: retire another one")
        return await engine.access.retire_secret(number, with_ids=with_ids, by=by)

    engine.retire_secret = retire_secret
    engine.revoke_key = revoke_key
    engine.set_status = set_status


async def main(directory: Path, key: str) -> None:
    """Serve until somebody stops it."""
    engine = await Engine.open(directory / "live.db", admin_key=key, compiled=False)
    guard(engine)
    await engine.create(CAMPAIGN)
    # Only of a socket that names its protocol does asyncio send small packets at once.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)  # noqa: T201 - for the one who waits for it
    config = uvicorn.Config(app(engine), log_level="warning", access_log=False)
    await uvicorn.Server(config).serve(sockets=[listening])
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
