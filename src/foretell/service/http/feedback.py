"""Feedback: signals and rewards, one by one or in batches of which each event stands alone."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from foretell import protocol
from foretell.service.http.body import parse
from foretell.service.http.call import NDJSON, Call, Reply, encode
from foretell.service.http.limits import MOST_EVENTS
from foretell.service.model.errors import TooLarge, Unusable


async def signal(call: Call) -> Reply:
    """Take in a signal."""
    return _receipt(call, await call.engine.signal(call.params["decision"], call.body))


async def reward(call: Call) -> Reply:
    """Take in a reward, or a correction of one."""
    return _receipt(call, await call.engine.reward(call.params["decision"], call.body))


def _receipt(call: Call, receipt: protocol.Receipt) -> Reply:
    call.shared.metrics.feedback[receipt.status] += 1
    return Reply(200, encode(receipt))


async def batch(call: Call) -> Reply:
    """Take in many events; what is wrong with one does not touch the others."""
    media, body = call.body
    if media == NDJSON:
        numbered = lines(body)
        receipts = await _take(call, [Raw(line) for _, line in numbered])
        for (number, _), receipt in zip(numbered, receipts, strict=True):
            if receipt.status == "rejected":
                receipt.detail = f"line {number}: {receipt.detail}"
    else:
        receipts = await _take(call, parse(_DECODER, body).events)
    counters = call.shared.metrics.feedback
    for receipt in receipts:
        counters[receipt.status] += 1
    return Reply(200, encode(protocol.BatchReceipt(receipts)))


async def _take(call: Call, events: list[Raw]) -> list[protocol.Receipt]:
    if not events:
        raise Unusable("a batch must have at least one event, got none")
    if len(events) > MOST_EVENTS:
        raise TooLarge(
            f"a batch must have at most {MOST_EVENTS} events, got {len(events)}: send several"
        )
    return await call.engine.batch(events)


class _Events(protocol.RequestBody):
    """A batch of any length: one that is too long is 413, not 422."""

    events: list[Raw]


_DECODER = msgspec.json.Decoder(_Events)


def lines(body: bytes) -> list[tuple[int, bytes]]:
    r"""Split NDJSON into its lines, each with its number from 1; empty lines are left out.

    >>> lines(b'{"a": 1}\r\n\n{"b": 2}')
    [(1, b'{"a": 1}'), (3, b'{"b": 2}')]
    """
    stripped = (line.strip() for line in body.split(b"\n"))
    return [(number, line) for number, line in enumerate(stripped, 1) if line]
