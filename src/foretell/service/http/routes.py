"""The one table of operations: routes, scopes and the OpenAPI document are made from it.

The rows stand in the order in which paths are tried: what is asked most often comes first.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from foretell import protocol
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.protocol.warm_start import MAX_PART_ROWS
from foretell.service.http import handlers
from foretell.service.http.bodies import JSON, NDJSON
from foretell.service.http.export import PARQUET, export
from foretell.service.http.operation import (
    AS_IT_IS,
    CAMPAIGN,
    DECISION,
    REFITTING,
    Handler,
    Operation,
    Success,
    campaign_operation,
    feedback_operation,
)
from foretell.service.http.queries import (
    CampaignsQuery,
    EventsQuery,
    ExportQuery,
    SeriesQuery,
)
from foretell.service.http.service_routes import SERVICE_OPERATIONS
from foretell.service.model.errors import (
    Conflict,
    NoRoomForCopy,
    NotFound,
    NotInstalled,
    Unusable,
)

_MADE = ("ETag", "Location")
_NEXT = tuple(
    (name, "decision", "decision_id") for name in ("signal", "reward", "void", "get_decision")
)
_DECIDED = Success(200, "", protocol.DecisionAnswer, ("Location",), links=_NEXT)


def _status(
    verb: str, status: Literal["running", "paused", "stopped", "hidden"], summary: str
) -> Operation:
    """Return the operation that starts, pauses, stops or hides one campaign."""
    handler = handlers.set_status(status)
    return campaign_operation(
        f"{verb}_campaign", "POST", f"/{verb}", handler, summary, if_match=True
    )


def _report(name: handlers.Report, summary: str, kind: Any) -> Operation:
    """Return the operation that shows one report of a campaign."""
    return _read(name, handlers.report(name), summary, kind)


def _series(name: handlers.Series, summary: str, kind: Any) -> Operation:
    """Return the operation that shows one report of a campaign by periods of time."""
    return replace(_read(name, handlers.series(name), summary, kind), query=SeriesQuery)


def _read(name: str, handler: Handler, summary: str, kind: Any) -> Operation:
    return Operation(
        f"get_{name}",
        "GET",
        f"{CAMPAIGN}/{name}",
        handler,
        summary,
        (Success(200, "The table.", kind),),
        "Reports",
        scope="read",
        raises=(NotFound,),
    )


_HOT = (
    Operation(
        "decide",
        "POST",
        f"{CAMPAIGN}/decisions",
        handlers.decide,
        "Ask for an action. With a decision_key the same question can be sent again.",
        (
            replace(_DECIDED, status=201, what="A decision, made and on disk."),
            replace(_DECIDED, status=200, what="The decision of the same decision_key."),
        ),
        "Decisions",
        scope="decide",
        request=protocol.DecisionRequest,
        optional=True,
        raises=(NotFound, Conflict),
        example={"unit": "u1", "decision_key": "visit-7f3a"},
    ),
    feedback_operation(
        "signal",
        handlers.feedback,
        "Report a signal that was seen soon after a decision.",
        protocol.SignalReport,
        {"signal": "click", "event_id": "click-881"},
    ),
    feedback_operation(
        "reward",
        handlers.feedback,
        "Report a reward, or correct one, however late.",
        protocol.RewardReport,
        {"value": 1.0, "event_id": "order-88231"},
    ),
    feedback_operation(
        "void",
        handlers.feedback,
        "Report that a decision was never shown: nothing reported about it counts.",
        protocol.VoidReport,
        {"event_id": "not-rendered-12"},
    ),
    Operation(
        "batch",
        "POST",
        "/v1/events/batch",
        handlers.batch,
        f"Report up to {MAX_BATCH_EVENTS:,} signals, rewards and voids; "
        "each is taken or rejected for itself.",
        (Success(200, "What became of each event, in the order sent.", protocol.BatchReceipt),),
        "Feedback",
        scope="feedback",
        each_campaign=True,
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
        DECISION,
        handlers.get_decision,
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
        handlers.create_campaign,
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
        handlers.list_campaigns,
        "List the campaigns that the key is for, without those that are hidden.",
        (Success(200, "The campaigns.", protocol.CampaignList),),
        "Campaigns",
        scope="read",
        each_campaign=True,
        query=CampaignsQuery,
    ),
    campaign_operation(
        "get_campaign", "GET", "", handlers.get_campaign, "Read how a campaign is set."
    ),
    campaign_operation(
        "patch_campaign",
        "PATCH",
        "",
        handlers.patch_campaign,
        "Change a running campaign.",
        answers=(AS_IT_IS, REFITTING),
        request=protocol.CampaignPatch,
        if_match=True,
        example={"reward_window": 1209600, "explore": 0.01},
    ),
    _status("start", "running", "Start a campaign, or let it go on."),
    _status("pause", "paused", "Pause a campaign: it decides nothing and takes feedback."),
    _status("stop", "stopped", "Stop a campaign: it decides nothing and takes feedback."),
    _status("hide", "hidden", "Stop a campaign and leave it out of lists; nothing of it is lost."),
    campaign_operation(
        "refit_campaign",
        "POST",
        "/refit",
        handlers.refit_campaign,
        "Let the policy read the whole log again.",
        answers=(REFITTING,),
        if_match=True,
    ),
    campaign_operation(
        "add_action",
        "POST",
        "/actions",
        handlers.add_action,
        "Add an action.",
        answers=(Success(201, "The campaign with its new action.", protocol.CampaignView, _MADE),),
        request=protocol.NewAction,
        if_match=True,
        example={"action": "gift-guide"},
    ),
    campaign_operation(
        "patch_action",
        "PATCH",
        "/actions/{action}",
        handlers.patch_action,
        "Pause an action, let it go on, or retire it for good.",
        request=protocol.ActionPatch,
        if_match=True,
        example={"status": "paused"},
    ),
    Operation(
        "import_history",
        "POST",
        f"{CAMPAIGN}/history",
        handlers.import_history,
        f"Warm-start a campaign from an earlier log, in parts of up to {MAX_PART_ROWS:,} rows.",
        (
            Success(
                202,
                "The part is on disk. After the last one the policy reads them all; the campaign "
                "says how far it is.",
                protocol.ImportView,
                ("Location",),
            ),
        ),
        "Campaigns",
        scope="admin",
        request=protocol.HistoryPart,
        raises=(NotFound, Conflict),
        example={
            "id": "autumn-2025",
            "rows": [
                {"action": "sale", "signal": "click", "reward": 1.0},
                {"action": "new-arrivals", "signal": "none", "reward": 0.0},
            ],
            "last": True,
        },
    ),
    Operation(
        "erase_unit",
        "DELETE",
        f"{CAMPAIGN}/units/{{unit:unit}}",
        handlers.erase_unit,
        "Forget a unit: its decisions stay, and name nobody.",
        (Success(200, "How many decisions named it.", protocol.ErasedUnit),),
        "Campaigns",
        scope="admin",
        raises=(NotFound, Unusable),
    ),
)

_REPORTS = (
    _report("report", "What a campaign has come to.", protocol.CampaignReport),
    _series("timeseries", "A campaign over time, by action and by mode.", protocol.Timeseries),
    _report("delays", "How long feedback takes, and what the windows miss.", protocol.DelayReport),
    _series("signals", "Signals by action and period.", protocol.SignalTable),
    _report(
        "changes", "When signals changed, and what the policy did about it.", protocol.SignalChanges
    ),
    _report("validity", "Whether the signal can be trusted.", protocol.ValidityReport),
    Operation(
        "get_events",
        "GET",
        f"{CAMPAIGN}/events",
        handlers.get_events,
        "Read records of the log after a given one, all or of one type.",
        (Success(200, "Records of the log, and where to go on.", protocol.RecordPage),),
        "Reports",
        scope="read",
        query=EventsQuery,
        raises=(NotFound,),
    ),
    Operation(
        "export",
        "GET",
        f"{CAMPAIGN}/export",
        export,
        "Read the whole log, as NDJSON while it is read or as a Parquet file.",
        (Success(200, "The log.", None, (), (NDJSON, PARQUET)),),
        "Reports",
        scope="read",
        query=ExportQuery,
        raises=(NotFound, NotInstalled, NoRoomForCopy),
    ),
)

_EVALUATIONS = (
    Operation(
        "evaluate",
        "POST",
        f"{CAMPAIGN}/evaluations",
        handlers.evaluate,
        "Begin to find out what another policy would have earned on this log.",
        (
            Success(
                202,
                "The evaluation, under way.",
                protocol.EvaluationView,
                ("Location",),
            ),
        ),
        "Reports",
        scope="admin",
        request=protocol.NewEvaluation,
        raises=(NotFound, Conflict),
        example={"policy": "ucb"},
    ),
    Operation(
        "list_evaluations",
        "GET",
        f"{CAMPAIGN}/evaluations",
        handlers.list_evaluations,
        "List the latest evaluations since the server was started.",
        (Success(200, "The evaluations, oldest first.", protocol.EvaluationList),),
        "Reports",
        scope="read",
        raises=(NotFound,),
    ),
    Operation(
        "get_evaluation",
        "GET",
        f"{CAMPAIGN}/evaluations/{{evaluation}}",
        handlers.get_evaluation,
        "Read an evaluation: how far it has come, or what it has found.",
        (Success(200, "The evaluation.", protocol.EvaluationView),),
        "Reports",
        scope="read",
        raises=(NotFound,),
    ),
)

OPERATIONS: tuple[Operation, ...] = (
    *_HOT,
    *_CAMPAIGNS,
    *_REPORTS,
    *_EVALUATIONS,
    *SERVICE_OPERATIONS,
)
