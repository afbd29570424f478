"""The handlers of decisions, feedback, campaigns and reports.

Each asks the engine one thing and makes a response of it. Those of the service itself are in
`service_handlers`.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec
from msgspec import Raw

from foretell import protocol
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.service.http.bodies import NDJSON, parse_json, split_ndjson
from foretell.service.http.operation import Handler, RequestContext
from foretell.service.http.responses import Response, encode
from foretell.service.model.checks.plain_json import cut_events
from foretell.service.model.errors import Malformed, Stale, TooLarge, Unusable
from foretell.service.reports.periods import Asked

_TAG = re.compile(rb'(W/)?"([^"]*)"')

# Decisions and feedback


async def decide(context: RequestContext) -> Response:
    """Choose an action."""
    answer, new = await context.engine.decide(context.params["campaign"], context.body)
    if new:
        context.state.metrics.decisions[context.params["campaign"], answer.mode] += 1
    location = b"/v1/decisions/" + answer.decision_id.encode()
    return Response(201 if new else 200, encode(answer), ((b"location", location),))


async def get_decision(context: RequestContext) -> Response:
    """Return all that is known about a decision."""
    found = await context.engine.history(context.params["decision"], context.own)
    return Response(200, encode(found))


async def feedback(context: RequestContext) -> Response:
    """Take in a signal, a reward, a correction of one, or a void."""
    receipt = await context.engine.feedback(context.params["decision"], context.body, context.own)
    return Response(200, encode(receipt))


class _EventsOfAnyNumber(protocol.RequestBody):
    """A batch of any length: one that is too long is 413, not 422."""

    events: list[Raw]


_batch_decoder = msgspec.json.Decoder(_EventsOfAnyNumber)


async def batch(context: RequestContext) -> Response:
    """Take in many events; what is wrong with one does not touch the others."""
    media, body = context.body
    if media == NDJSON:
        lines = split_ndjson(body)
        receipts = await _take_in(context, [Raw(line) for _, line in lines])
        for (number, _), receipt in zip(lines, receipts, strict=True):
            if receipt.status == "rejected":
                receipt.detail = f"line {number}: {receipt.detail}"
    else:
        receipts = await _take_in(context, _events_of(body))
    return Response(200, encode(protocol.BatchReceipt(receipts)))


def _events_of(body: bytes) -> list[Raw]:
    """Return the events of a batch, each of which may be odd."""
    try:
        events: list[Raw] = parse_json(_batch_decoder, body, any_depth=True).events
    except Malformed:
        cut = cut_events(body)
        if cut is None:
            raise
        return cut
    return events


async def _take_in(context: RequestContext, events: list[Raw]) -> list[protocol.Receipt]:
    if not events:
        raise Unusable("events must be at least one, got none: send some", field="events")
    if len(events) > MAX_BATCH_EVENTS:
        raise TooLarge(
            f"a batch must have at most {MAX_BATCH_EVENTS} events, got {len(events)}: send several"
        )
    return await context.engine.batch(events, context.own)


# Campaigns, each with its version as an ETag


def _campaign(view: protocol.CampaignView) -> Response:
    return Response(200, encode(view), (_etag(view),))


def _changed(view: protocol.CampaignView) -> Response:
    """Answer 202 where a refit goes on, else 200."""
    under_way = view.refit is not None and view.refit.status == "running"
    return Response(202 if under_way else 200, encode(view), (_etag(view),))


def _created(view: protocol.CampaignView, location: str) -> Response:
    return Response(201, encode(view), (_etag(view), (b"location", location.encode())))


def _etag(view: protocol.CampaignView) -> tuple[bytes, bytes]:
    return b"etag", b'"%d"' % view.version


def if_match_version(context: RequestContext) -> int | None:
    """Return the version that If-Match asks for, None if any will do; 412 if it is another.

    A list is met by any of its tags, `*` by every campaign, and a weak tag by none.
    """
    sent = [value for name, value in context.scope["headers"] if name == b"if-match"]
    if not sent or b"*" in (value.strip() for value in sent):
        return None
    version = context.engine.campaign(context.params["campaign"]).version
    tags = {tag for value in sent for weak, tag in _TAG.findall(value) if not weak}
    if b"%d" % version not in tags:
        bare = any(value.strip().isdigit() for value in sent)
        advice = (
            f'send the version in If-Match with its quotes, as in "{version}"'
            if bare
            else "read it again and repeat the change"
        )
        raise Stale(
            f'the campaign is at version "{version}", which If-Match does not name: {advice}'
        )
    return version


async def create_campaign(context: RequestContext) -> Response:
    """Make a campaign."""
    view = await context.engine.create(context.body, context.author)
    return _created(view, f"/v1/campaigns/{view.name}")


async def list_campaigns(context: RequestContext) -> Response:
    """List the campaigns that the key is for."""
    listed = context.engine.campaigns(hidden=context.query.hidden)
    views = [view for view in listed if context.may_use(view.name)]
    return Response(200, encode(protocol.CampaignList(views)))


async def get_campaign(context: RequestContext) -> Response:
    """Return one campaign."""
    return _campaign(context.engine.campaign(context.params["campaign"]))


async def patch_campaign(context: RequestContext) -> Response:
    """Change a campaign."""
    name, version = context.params["campaign"], if_match_version(context)
    engine, author = context.engine, context.author
    return _changed(await engine.patch(name, context.body, version, author, wait=False))


def set_status(status: Literal["running", "paused", "stopped", "hidden"]) -> Handler:
    """Return the handler that starts, pauses, stops or hides a campaign."""

    async def handler(context: RequestContext) -> Response:
        name, version = context.params["campaign"], if_match_version(context)
        return _campaign(await context.engine.set_status(name, status, version, context.author))

    return handler


async def refit_campaign(context: RequestContext) -> Response:
    """Let the policy read the whole log again."""
    name, version = context.params["campaign"], if_match_version(context)
    return _changed(await context.engine.refit(name, version, context.author, wait=False))


async def add_action(context: RequestContext) -> Response:
    """Add an action."""
    name, version = context.params["campaign"], if_match_version(context)
    view = await context.engine.add_action(name, context.body, version, context.author)
    return _created(view, f"/v1/campaigns/{name}/actions/{context.body.action}")


async def patch_action(context: RequestContext) -> Response:
    """Pause, resume or retire an action."""
    name, action = context.params["campaign"], context.params["action"]
    version = if_match_version(context)
    patched = context.engine.patch_action(name, action, context.body, version, context.author)
    return _campaign(await patched)


async def import_history(context: RequestContext) -> Response:
    """Take in a part of an earlier log."""
    name = context.params["campaign"]
    view = await context.engine.import_history(name, context.body, context.author)
    location = f"/v1/campaigns/{name}"
    return Response(202, encode(view), ((b"location", location.encode()),))


async def erase_unit(context: RequestContext) -> Response:
    """Forget a unit."""
    unit = context.params["unit"]
    if not 1 <= len(unit) <= 200:
        raise Unusable(f"a unit must have 1 to 200 characters, got {len(unit)}: send one of them")
    name = context.params["campaign"]
    return Response(200, encode(await context.engine.erase(name, unit, context.author)))


# Reports


Report = Literal["report", "delays", "changes", "validity"]
Series = Literal["timeseries", "signals"]


def series(name: Series) -> Handler:
    """Return the handler that shows a report by periods of time."""

    async def handler(context: RequestContext) -> Response:
        read, query = getattr(context.engine, name), context.query
        asked = Asked.of(query.begin, query.end, query.width)
        return Response(200, encode(await read(context.params["campaign"], asked)))

    return handler


def report(name: Report) -> Handler:
    """Return the handler that shows a report: the engine has a method of its name."""

    async def handler(context: RequestContext) -> Response:
        read = getattr(context.engine, name)
        return Response(200, encode(await read(context.params["campaign"])))

    return handler


async def get_events(context: RequestContext) -> Response:
    """Return records of the log, and where to go on."""
    name, query = context.params["campaign"], context.query
    page = await context.engine.record_page(name, query.after, query.limit, query.type)
    return Response(200, encode(page))


# Evaluations


async def evaluate(context: RequestContext) -> Response:
    """Begin to evaluate a policy."""
    name = context.params["campaign"]
    view = await context.engine.evaluate(name, context.body)
    location = f"/v1/campaigns/{name}/evaluations/{view.id}"
    return Response(202, encode(view), ((b"location", location.encode()),))


async def get_evaluation(context: RequestContext) -> Response:
    """Return an evaluation, as far as it has come."""
    params = context.params
    return Response(
        200, encode(context.engine.evaluation(params["campaign"], params["evaluation"]))
    )


async def list_evaluations(context: RequestContext) -> Response:
    """Return the latest evaluations."""
    return Response(200, encode(context.engine.evaluations(context.params["campaign"])))
