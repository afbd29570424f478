"""The one table of operations: routes, scopes and the OpenAPI document are made from it.

The rows stand in the order in which paths are tried: what is asked most often comes first.
"""

from __future__ import annotations

from msgspec.structs import replace

from foretell.live import api
from foretell.live.http import (
    campaigns,
    decisions,
    export,
    feedback,
    reports,
)
from foretell.live.http.call import JSON, NDJSON
from foretell.live.http.operation import Operation, Success
from foretell.live.http.query import ExportQuery, LogQuery
from foretell.live.http.rows import (
    C,
    D,
    campaign_row,
    feedback_row,
    report_row,
    status_row,
)
from foretell.live.http.service_table import SERVICE
from foretell.live.problems import Conflict, NotFound, Unusable

_AT = ("Location",)
_MADE = ("ETag", "Location")
_THEN = tuple((name, "decision", "decision_id") for name in ("signal", "reward", "get_decision"))
_HOT = (
    Operation(
        "decide",
        "POST",
        f"{C}/decisions",
        decisions.decide,
        "Ask for an action. With a decision_key the same question can be sent again.",
        (
            Success(201, "A decision, made and on disk.", api.Answer, _AT, links=_THEN),
            Success(200, "The decision of the same decision_key.", api.Answer, _AT, links=_THEN),
        ),
        "Decisions",
        scope="decide",
        request=api.Ask,
        optional=True,
        raises=(NotFound, Conflict),
        example={"unit": "u1", "decision_key": "visit-7f3a"},
    ),
    feedback_row(
        "signal",
        feedback.signal,
        "Report a signal that was seen soon after a decision.",
        api.SignalReport,
        {"signal": "click", "event_id": "click-881"},
    ),
    feedback_row(
        "reward",
        feedback.reward,
        "Report a reward, or correct one, however late.",
        api.RewardReport,
        {"value": 1.0, "event_id": "order-88231"},
    ),
    Operation(
        "batch",
        "POST",
        "/v1/events/batch",
        feedback.batch,
        "Report up to 2,000 signals and rewards; each is taken or rejected for itself.",
        (Success(200, "What became of each event, in the order sent.", api.BatchAnswer),),
        "Feedback",
        scope="feedback",
        request=api.Batch,
        reads="bytes",
        media=(JSON, NDJSON),
        example={
            "events": [
                {"decision_id": "AXk3…", "signal": "click", "event_id": "click-881"},
                {"decision_id": "AXk3…", "value": 1.0, "event_id": "order-88231"},
            ]
        },
    ),
    Operation(
        "get_decision",
        "GET",
        D,
        decisions.story,
        "Read the whole story of one decision.",
        (Success(200, "All that is known about the decision.", api.Story),),
        "Decisions",
        scope="read",
        raises=(NotFound,),
    ),
)

_CAMPAIGNS = (
    Operation(
        "create_campaign",
        "POST",
        "/v1/campaigns",
        campaigns.create,
        "Make a campaign.",
        (Success(201, "The campaign, made and on disk.", api.CampaignView, _MADE),),
        "Campaigns",
        scope="admin",
        request=api.NewCampaign,
        raises=(Conflict,),
        example={
            "name": "home-hero",
            "actions": ["editorial-pick", "new-arrivals", "sale"],
            "signals": ["none", "view", "click"],
            "signal_window": 3600,
            "reward_window": 604800,
        },
    ),
    Operation(
        "list_campaigns",
        "GET",
        "/v1/campaigns",
        campaigns.show_all,
        "List every campaign.",
        (Success(200, "Every campaign.", api.CampaignList),),
        "Campaigns",
        scope="read",
    ),
    campaign_row("get_campaign", "GET", "", campaigns.show, "Read how a campaign is set."),
    replace(
        campaign_row("patch_campaign", "PATCH", "", campaigns.patch, "Change a running campaign."),
        request=api.CampaignPatch,
        if_match=True,
        example={"reward_window": 1209600, "explore": 0.01},
    ),
    status_row("start", "running", "Start a campaign, or let it go on."),
    status_row("pause", "paused", "Pause a campaign: it decides nothing and takes feedback."),
    status_row("stop", "stopped", "Stop a campaign: it decides nothing and takes feedback."),
    replace(
        campaign_row("refold_campaign", "POST", "/refold", campaigns.refold, "Read the log anew."),
        if_match=True,
    ),
    replace(
        campaign_row("add_action", "POST", "/actions", campaigns.add_action, "Add an action."),
        answers=(Success(201, "The campaign with its new action.", api.CampaignView, _MADE),),
        request=api.NewAction,
        if_match=True,
        example={"action": "gift-guide"},
    ),
    replace(
        campaign_row(
            "patch_action",
            "PATCH",
            "/actions/{action}",
            campaigns.patch_action,
            "Pause an action, let it go on, or retire it for good.",
        ),
        request=api.ActionPatch,
        if_match=True,
        example={"status": "paused"},
    ),
    Operation(
        "erase_unit",
        "DELETE",
        f"{C}/units/{{unit:path}}",
        campaigns.erase,
        "Forget a unit: its decisions stay, and name nobody.",
        (Success(200, "How many decisions named it.", api.Erased),),
        "Campaigns",
        scope="admin",
        raises=(NotFound, Unusable),
    ),
)

_REPORTS = (
    report_row("report", lambda e, c: e.report(c), "What a campaign has come to.", api.Report),
    report_row("timeseries", lambda e, c: e.timeseries(c), "A campaign over time.", api.Timeseries),
    report_row("delays", lambda e, c: e.delays(c), "How long feedback takes.", api.Delays),
    report_row("signals", lambda e, c: e.signals(c), "Signals by action.", api.SignalTable),
    report_row("changes", lambda e, c: e.changes(c), "When signals changed.", api.Changes),
    Operation(
        "get_events",
        "GET",
        f"{C}/events",
        reports.log_page,
        "Read lines of the log after a given one.",
        (Success(200, "Lines of the log, and where to go on.", api.LogPage),),
        "Reports",
        scope="read",
        query=LogQuery,
        raises=(NotFound,),
    ),
    Operation(
        "export",
        "GET",
        f"{C}/export",
        export.export,
        "Read the whole log, as NDJSON while it is read or as a Parquet file.",
        (Success(200, "The log.", None, (), (NDJSON, export.PARQUET)),),
        "Reports",
        scope="read",
        query=ExportQuery,
        raises=(NotFound,),
    ),
)

OPERATIONS: tuple[Operation, ...] = (*_HOT, *_CAMPAIGNS, *_REPORTS, *SERVICE)
