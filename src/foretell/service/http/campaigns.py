"""Campaigns and their actions: made, read, changed, each with its version as an ETag."""

from __future__ import annotations

from typing import Literal

from foretell import protocol
from foretell.service.http.call import Call, Reply, encode
from foretell.service.http.operation import Handler
from foretell.service.http.precondition import etag, wanted_version
from foretell.service.model.errors import Unusable


def _view(view: protocol.CampaignView) -> Reply:
    return Reply(200, encode(view), (etag(view),))


def _made(view: protocol.CampaignView, location: str) -> Reply:
    return Reply(201, encode(view), (etag(view), (b"location", location.encode())))


async def create(call: Call) -> Reply:
    """Make a campaign."""
    view = await call.engine.create(call.body)
    return _made(view, f"/v1/campaigns/{view.name}")


async def show_all(call: Call) -> Reply:
    """List every campaign."""
    return Reply(200, encode(protocol.CampaignList(call.engine.campaigns())))


async def show(call: Call) -> Reply:
    """Show one campaign."""
    return _view(call.engine.campaign(call.params["campaign"]))


async def patch(call: Call) -> Reply:
    """Change a campaign."""
    version = wanted_version(call)
    return _view(await call.engine.patch(call.params["campaign"], call.body, version))


def set_status(status: Literal["running", "paused", "stopped"]) -> Handler:
    """Make the handler that starts, pauses or stops a campaign."""

    async def handler(call: Call) -> Reply:
        version = wanted_version(call)
        return _view(await call.engine.set_status(call.params["campaign"], status, version))

    return handler


async def refit(call: Call) -> Reply:
    """Let the policy read the whole log again."""
    return _view(await call.engine.refit(call.params["campaign"], wanted_version(call)))


async def add_action(call: Call) -> Reply:
    """Add an action."""
    name = call.params["campaign"]
    view = await call.engine.add_action(name, call.body, wanted_version(call))
    return _made(view, f"/v1/campaigns/{name}/actions/{call.body.action}")


async def patch_action(call: Call) -> Reply:
    """Pause, resume or retire an action."""
    name, action = call.params["campaign"], call.params["action"]
    return _view(await call.engine.patch_action(name, action, call.body, wanted_version(call)))


async def erase(call: Call) -> Reply:
    """Forget a unit."""
    unit = call.params["unit"]
    if not 1 <= len(unit) <= 200:
        raise Unusable(f"a unit must have 1 to 200 characters, got {len(unit)}")
    erased = await call.engine.erase(call.params["campaign"], unit)
    return Reply(200, encode(erased))
