"""The one table of operations: routes, scopes and the OpenAPI document are made from it.

The rows stand in the order in which paths are tried: what is asked most often comes first.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from foretell import protocol
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.service.http import handlers, service_handlers
from foretell.service.http.bodies import JSON, NDJSON, ExportQuery, LogQuery
from foretell.service.http.export import PARQUET, export
from foretell.service.http.operation import (
    CAMPAIGN,
    DECISION,
    Operation,
    Success,
    campaign_operation,
    feedback_operation,
    open_operation,
)
from foretell.service.model.errors import (
    Conflict,
    LogUnavailable,
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


def _status(verb: str, status: Literal["running", "paused", "stopped"], summary: str) -> Operation:
    """Return the operation that starts, pauses or stops one campaign."""
    handler = handlers.set_status(status)
    return campaign_operation(
        f"{verb}_campaign", "POST", f"/{verb}", handler, summary, if_match=True
    )


def _report(name: handlers.Report, summary: str, kind: Any) -> Operation:
    """Return the operation that shows one report of a campaign."""
    return Operation(
        f"get_{name}",
        "GET",
        f"{CAMPAIGN}/{name}",
        handlers.report(name),
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
        "Report that a decision was never shown: nothing counts that is said about it.",
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
        "List every campaign.",
        (Success(200, "Every campaign.", protocol.CampaignList),),
        "Campaigns",
        scope="read",
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
        request=protocol.CampaignPatch,
        if_match=True,
        example={"reward_window": 1209600, "explore": 0.01},
    ),
    _status("start", "running", "Start a campaign, or let it go on."),
    _status("pause", "paused", "Pause a campaign: it decides nothing and takes feedback."),
    _status("stop", "stopped", "Stop a campaign: it decides nothing and takes feedback."),
    campaign_operation(
        "refit_campaign",
        "POST",
        "/refit",
        handlers.refit_campaign,
        "Let the policy read the whole log again.",
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
        "erase_unit",
        "DELETE",
        f"{CAMPAIGN}/units/{{unit:path}}",
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
    _report("timeseries", "A campaign over time.", protocol.Timeseries),
    _report("delays", "How long feedback takes.", protocol.DelayReport),
    _report("signals", "Signals by action.", protocol.SignalTable),
    _report("changes", "When signals changed.", protocol.SignalChanges),
    Operation(
        "get_events",
        "GET",
        f"{CAMPAIGN}/events",
        handlers.get_events,
        "Read records of the log after a given one.",
        (Success(200, "Records of the log, and where to go on.", protocol.RecordPage),),
        "Reports",
        scope="read",
        query=LogQuery,
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

_SERVICE = (
    Operation(
        "make_key",
        "POST",
        "/v1/keys",
        service_handlers.make_key,
        "Make a key; it can be read in this answer only.",
        (
            Success(
                201,
                "The key.",
                protocol.MadeKey,
                ("Location",),
                links=(("revoke_key", "key_id", "id"),),
            ),
        ),
        "Keys",
        scope="admin",
        request=protocol.NewKey,
        raises=(Conflict,),
        example={"name": "web-frontend", "scopes": ["decide", "feedback"]},
    ),
    Operation(
        "list_keys",
        "GET",
        "/v1/keys",
        service_handlers.list_keys,
        "List the valid keys, without their secrets.",
        (Success(200, "Every valid key.", protocol.KeyList),),
        "Keys",
        scope="admin",
    ),
    Operation(
        "revoke_key",
        "DELETE",
        "/v1/keys/{key_id}",
        service_handlers.revoke_key,
        "Make a key invalid from now on.",
        (Success(204, "It is not valid any more.", None, (), ()),),
        "Keys",
        scope="admin",
        raises=(NotFound, Conflict),
    ),
    Operation(
        "rotate_secret",
        "POST",
        "/v1/secrets",
        service_handlers.rotate_secret,
        "Sign decision ids with a new secret from now on; the old ids stay valid.",
        (Success(201, "The new secret's number.", protocol.Rotated),),
        "Keys",
        scope="admin",
        raises=(Conflict,),
    ),
    Operation(
        "backup",
        "GET",
        "/v1/backup",
        service_handlers.backup,
        "Read the whole database as one file, while the service runs.",
        (Success(200, "A SQLite database.", None, (), (service_handlers.SQLITE,)),),
        "Service",
        scope="admin",
        raises=(NoRoomForCopy,),
    ),
    Operation(
        "restore",
        "POST",
        "/v1/restore",
        service_handlers.restore,
        "Put a backup in place of the database.",
        (Success(200, "The last record of the restored log.", protocol.Restored),),
        "Service",
        scope="admin",
        request=bytes,
        reads="stream",
        media=(service_handlers.SQLITE, service_handlers.BYTES),
        raises=(Conflict, NoRoomForCopy),
    ),
    open_operation(
        "/livez",
        service_handlers.livez,
        "Does the process run?",
        Success(200, "It does.", protocol.Health),
    ),
    open_operation(
        "/readyz",
        service_handlers.readyz,
        "Can the log be written?",
        Success(200, "It can.", protocol.Health),
        raises=(LogUnavailable,),
    ),
    open_operation(
        "/metrics",
        service_handlers.metrics,
        "Numbers for Prometheus.",
        Success(200, "Prometheus' text format.", None, (), (b"text/plain",)),
    ),
    open_operation(
        "/openapi.json",
        service_handlers.openapi,
        "This description.",
        Success(200, "An OpenAPI 3.1 document.", dict),
    ),
    open_operation(
        "/docs",
        service_handlers.docs,
        "This description, to read.",
        Success(200, "A page.", None, (), (b"text/html",)),
    ),
)

OPERATIONS: tuple[Operation, ...] = (*_HOT, *_CAMPAIGNS, *_REPORTS, *_SERVICE)
