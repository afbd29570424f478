"""Decisions: asking for one, and reading its history."""

from __future__ import annotations

from foretell.service.http.call import Call, Reply, encode


async def decide(call: Call) -> Reply:
    """Ask for an action."""
    answer, new = await call.engine.decide(call.params["campaign"], call.body)
    call.shared.metrics.decisions[answer.mode] += 1
    location = b"/v1/decisions/" + answer.decision_id.encode()
    return Reply(201 if new else 200, encode(answer), ((b"location", location),))


async def history(call: Call) -> Reply:
    """Tell all that is known about a decision."""
    return Reply(200, encode(await call.engine.history(call.params["decision"])))
