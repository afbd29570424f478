"""The one table of operations: routes, scopes and the OpenAPI document are made from it.

The rows stand in the order in which paths are tried: what is asked most often comes first.
"""

from __future__ import annotations

from msgspec.structs import replace

from foretell import protocol
from foretell.service.http import campaigns, decisions, export, feedback, reports
from foretell.service.http.call import JSON, NDJSON
from foretell.service.http.operation import Operation, Success
from foretell.service.http.query import ExportQuery, LogQuery
from foretell.service.http.rows import C, D, campaign_row, feedback_row, report_row, status_row
from foretell.service.http.service_table import SERVICE
from foretell.service.model.errors import Conflict, NotFound, Unusable

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
            Success(
                201, "A decision, made and on disk.", protocol.DecisionAnswer, _AT, links=_THEN
            ),
            Success(
                200,
                "The decision of the same decision_key.",
                protocol.DecisionAnswer,
                _AT,
                links=_THEN,
            ),
        ),
        "Decisions",
        scope="decide",
        request=protocol.DecisionRequest,
        optional=True,
        raises=(NotFound, Conflict),
        example={"unit": "u1", "decision_key": "visit-7f3a"},
    ),
    feedback_row(
        "signal",
        feedback.signal,
        "Report a signal that was seen soon after a decision.",
        protocol.SignalReport,
        {"signal": "click", "event_id": "click-881"},
    ),
    feedback_row(
        "reward",
        feedback.reward,
        "Report a reward, or correct one, however late.",
        protocol.RewardReport,
        {"value": 1.0, "event_id": "order-88231"},
    ),
    Operation(
        "batch",
        "POST",
        "/v1/events/batch",
        feedback.batch,
        "Report up to 2,000 signals and rewards; each is taken or rejected for itself.",
        (Success(200, "What became of each event, in the order sent.", protocol.BatchReceipt),),
        "Feedback",
        scope="feedback",
        request=protocol.EventBatch,
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
        decisions.history,
        "Read the whole history of one decision.",
        (Success(200, "All that is known about the decision.", protocol.DecisionHistory),),
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
        (Success(201, "The campaign, made and on disk.", protocol.CampaignView, _MADE),),
        "Campaigns",
        scope="admin",
        request=protocol.NewCampaign,
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
        (Success(200, "Every campaign.", protocol.CampaignList),),
        "Campaigns",
        scope="read",
    ),
    campaign_row("get_campaign", "GET", "", campaigns.show, "Read how a campaign is set."),
    replace(
        campaign_row("patch_campaign", "PATCH", "", campaigns.patch, "Change a running campaign."),
        request=protocol.CampaignPatch,
        if_match=True,
        example={"reward_window": 1209600, "explore": 0.01},
    ),
    status_row("start", "running", "Start a campaign, or let it go on."),
    status_row("pause", "paused", "Pause a campaign: it decides nothing and takes feedback."),
    status_row("stop", "stopped", "Stop a campaign: it decides nothing and takes feedback."),
    replace(
        campaign_row(
            "refit_campaign",
            "POST",
            "/refit",
            campaigns.refit,
            "Let the policy read the whole log again.",
        ),
        if_match=True,
    ),
    replace(
        campaign_row("add_action", "POST", "/actions", campaigns.add_action, "Add an action."),
        answers=(Success(201, "The campaign with its new action.", protocol.CampaignView, _MADE),),
        request=protocol.NewAction,
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
        request=protocol.ActionPatch,
        if_match=True,
        example={"status": "paused"},
    ),
    Operation(
        "erase_unit",
        "DELETE",
        f"{C}/units/{{unit:path}}",
        campaigns.erase,
        "Forget a unit: its decisions stay, and name nobody.",
        (Success(200, "How many decisions named it.", protocol.ErasedUnit),),
        "Campaigns",
        scope="admin",
        raises=(NotFound, Unusable),
    ),
)

_REPORTS = (
    report_row(
        "report", lambda e, c: e.report(c), "What a campaign has come to.", protocol.CampaignReport
    ),
    report_row(
        "timeseries", lambda e, c: e.timeseries(c), "A campaign over time.", protocol.Timeseries
    ),
    report_row(
        "delays", lambda e, c: e.delays(c), "How long feedback takes.", protocol.DelayReport
    ),
    report_row("signals", lambda e, c: e.signals(c), "Signals by action.", protocol.SignalTable),
    report_row(
        "changes", lambda e, c: e.changes(c), "When signals changed.", protocol.SignalChanges
    ),
    Operation(
        "get_events",
        "GET",
        f"{C}/events",
        reports.record_page,
        "Read lines of the log after a given one.",
        (Success(200, "Lines of the log, and where to go on.", protocol.RecordPage),),
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
