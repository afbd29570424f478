"""A shop in FastAPI: its hero is a decision, a click is the signal, an order is the reward.

    pip install fastapi uvicorn 'foretell[client]'
    export FORETELL_URL=http://localhost:8000 FORETELL_KEY=ftk_...   # scopes decide and feedback
    uvicorn fastapi_app:app

The decision's id goes to the browser and comes back with the click and the order; the key does not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from pydantic import BaseModel

import foretell


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Make a client for each process, and let it send what it can before the process ends."""
    async with foretell.AsyncClient(fallback="editorial-pick", outbox="outbox.db") as client:
        app.state.foretell = client
        yield


app = FastAPI(lifespan=lifespan)


def foretell_client(request: Request) -> foretell.AsyncClient:
    """Return the client of this process."""
    return request.app.state.foretell


Foretell = Annotated[foretell.AsyncClient, Depends(foretell_client)]


class Click(BaseModel):
    """What was clicked."""

    decision: str


class Order(BaseModel):
    """What was ordered after a decision."""

    decision: str
    amount: float


@app.get("/hero")
async def hero(client: Foretell, visitor: str | None = None) -> dict[str, str | None]:
    """Decide what to show: with a fallback this never fails."""
    decision = await client.decide("home-hero", unit=visitor)
    return {"hero": decision.action, "decision": decision.id}


@app.post("/click", status_code=204)
async def click(client: Foretell, seen: Click) -> None:
    """Report the signal: it is in the outbox when this returns, and sent soon after."""
    await client.signal(seen.decision, "click", event_id=f"click-{seen.decision[-40:]}")


@app.post("/orders/{number}", status_code=204)
async def order(client: Foretell, number: str, order: Order) -> None:
    """Report the reward; the same order counts once, however often it is sent."""
    await client.reward(order.decision, order.amount, event_id=f"order-{number}")
