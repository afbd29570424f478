"""What a request is told that does not end before the server does."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Receive, Scope, Send

from foretell.service.http.deliver import deliver
from foretell.service.http.refusal import refuse
from foretell.service.model.errors import LogClosed


class Answered:
    """An application that answers requests even where it is made to give them up."""

    def __init__(self, whole: ASGIApp) -> None:
        """Answer in place of `whole`, when it is cancelled."""
        self._whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await self._whole(scope, receive, send)
        except asyncio.CancelledError:
            problem = LogClosed("the server stops before this is done: send the same again")
            with suppress(RuntimeError):  # an answer that has begun is cut off
                await deliver(refuse(problem), "none", scope["method"], receive, send)
