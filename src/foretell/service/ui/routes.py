"""The one table of pages."""

from __future__ import annotations

from starlette.routing import Route

from foretell.pages import add_templates
from foretell.service.http.responses import Response
from foretell.service.model.errors import NotFound
from foretell.service.ui.campaign_changes import (
    action_page,
    add_action,
    change_policy,
    change_status,
    evaluate,
    evaluation_page,
    policy_page,
    status_page,
)
from foretell.service.ui.campaign_page import campaign_csv, campaign_page
from foretell.service.ui.decision_page import decision_page, find_decision
from foretell.service.ui.first_weeks_part import first_weeks_part
from foretell.service.ui.fleet_page import fleet_csv, fleet_page
from foretell.service.ui.formats import FILTERS
from foretell.service.ui.new_campaign import new_campaign, new_campaign_page
from foretell.service.ui.operations_page import operations_csv, operations_page
from foretell.service.ui.page_endpoint import PageEndpoint, PageRoute
from foretell.service.ui.sign_in import sign_in, sign_in_page, sign_out
from foretell.service.ui.site import Site
from foretell.service.ui.static_files import StaticFiles
from foretell.service.ui.visit import Visit, redirect

_CAMPAIGN = "/ui/campaigns/{campaign}"


async def _stream(visit: Visit) -> Response:
    """Tell a page when the log has moved."""
    assert visit.caller is not None  # noqa: S101  (the page is for nobody else)
    pulse, whose = visit.site.pulse, (visit.session, visit.caller.author.id)
    pulse.check_room(*whose)
    return Response(200, pulse.events(*whose), (), b"text/event-stream")


PAGES = (
    PageRoute("sign_in", "/ui/sign-in", sign_in_page, sign_in, None),
    PageRoute("sign_out", "/ui/sign-out", None, sign_out, None),
    PageRoute("fleet", "/ui", fleet_page, each_campaign=True),
    PageRoute("fleet_csv", "/ui/fleet.csv", fleet_csv, each_campaign=True),
    PageRoute("stream", "/ui/stream", _stream, each_campaign=True),
    PageRoute("operations", "/ui/operations", operations_page),
    PageRoute("operations_csv", "/ui/operations.csv", operations_csv),
    PageRoute("new_campaign", "/ui/new-campaign", new_campaign_page, new_campaign, "admin"),
    PageRoute("first_weeks", "/ui/first-weeks", first_weeks_part, None, "admin"),
    PageRoute("find_decision", "/ui/decisions", find_decision, each_campaign=True),
    PageRoute("decision", "/ui/decisions/{decision}", decision_page),
    PageRoute("campaign", _CAMPAIGN, campaign_page),
    PageRoute("campaign_csv", f"{_CAMPAIGN}/{{table}}.csv", campaign_csv),
    PageRoute("status", f"{_CAMPAIGN}/change/{{change}}", status_page, change_status, "admin"),
    PageRoute("action", f"{_CAMPAIGN}/new-action", action_page, add_action, "admin"),
    PageRoute("policy", f"{_CAMPAIGN}/policy", policy_page, change_policy, "admin"),
    PageRoute("evaluation", f"{_CAMPAIGN}/evaluation", evaluation_page, evaluate, "admin"),
)
"""Every page, with what a key must be allowed to see it."""


async def _nowhere(visit: Visit) -> Response:
    """Say that there is no such page."""
    if not visit.params["rest"]:
        return redirect("/ui")
    raise NotFound("there is no such page: go on from the campaigns")


NOWHERE = PageRoute("nowhere", "/ui/{rest:path}", _nowhere, each_campaign=True)
"""Every other address of the dashboard."""


def ui_routes(site: Site) -> list[Route]:
    """Return the routes of the dashboard."""
    add_templates("foretell.service.ui", FILTERS)
    pages = [Route(page.path, PageEndpoint(page, site)) for page in (*PAGES, NOWHERE)]
    return [Route("/ui/static/{name}", StaticFiles()), *pages]
