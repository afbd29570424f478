"""The yardstick of the service: a handler that does nothing, on the same stack."""

from __future__ import annotations

import sys

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_ANSWER = msgspec.json.encode({"decision_id": "x" * 64, "action": "a", "propensity": 1.0})


async def nothing(request: Request) -> Response:
    """Read the body and answer."""
    msgspec.json.decode(await request.body())
    return Response(_ANSWER, 201, media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(
        Starlette(routes=[Route("/empty", nothing, methods=["POST"])]),
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="error",
    )
