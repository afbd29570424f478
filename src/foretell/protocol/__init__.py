"""What goes over the wire: the bodies of requests and of answers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.protocol.access_views import (
        KeyList,
        KeyView,
        MadeKey,
        Rotated,
        SecretList,
        SecretView,
    )
    from foretell.protocol.campaign_report import (
        ActionReport,
        CampaignReport,
        FreshnessReport,
        LogReport,
        ModeReport,
        Observed,
        ReportCounts,
        ReportStatus,
        RewardInterval,
        SignalReportRow,
        ValidityCell,
        ValidityReport,
        Verdict,
    )
    from foretell.protocol.curves import (
        DelayReport,
        Delays,
        Maturity,
        PeriodSeries,
        PolicyReaction,
        SignalChange,
        SignalChanges,
        SignalTable,
        SignalTableRow,
        Timeseries,
    )
    from foretell.protocol.decision_requests import (
        DecisionRequest,
        EventBatch,
        FeedbackItem,
        RewardReport,
        SignalReport,
        VoidReport,
    )
    from foretell.protocol.evaluation import (
        EvaluationList,
        EvaluationResult,
        EvaluationView,
        Interval,
        NewEvaluation,
        PolicyValue,
    )
    from foretell.protocol.fields import (
        ActionStatus,
        CampaignStatus,
        FeedbackKind,
        Id,
        Mode,
        Moment,
        Name,
        ReceiptStatus,
        RewardSilence,
        Scope,
        Seconds,
        Share,
        Silence,
        TypicalDelay,
    )
    from foretell.protocol.history import (
        DecisionHistory,
        HistoryEvent,
        RecordPage,
        RecordType,
        RecordView,
    )
    from foretell.protocol.problem import FieldError, ProblemDetails
    from foretell.protocol.requests import (
        ActionPatch,
        CampaignPatch,
        NewAction,
        NewCampaign,
        NewKey,
        RequestBody,
    )
    from foretell.protocol.responses import (
        ActionView,
        BatchReceipt,
        CampaignList,
        CampaignView,
        DecisionAnswer,
        ErasedUnit,
        Health,
        Receipt,
        RefitStatus,
        RefitView,
        Restored,
    )
    from foretell.protocol.warm_start import HistoryPart, HistoryRow, ImportStatus, ImportView

__all__ = [
    "ActionPatch",
    "ActionReport",
    "ActionStatus",
    "ActionView",
    "BatchReceipt",
    "CampaignList",
    "CampaignPatch",
    "CampaignReport",
    "CampaignStatus",
    "CampaignView",
    "DecisionAnswer",
    "DecisionHistory",
    "DecisionRequest",
    "DelayReport",
    "Delays",
    "ErasedUnit",
    "EvaluationList",
    "EvaluationResult",
    "EvaluationView",
    "EventBatch",
    "FeedbackItem",
    "FeedbackKind",
    "FieldError",
    "FreshnessReport",
    "Health",
    "HistoryEvent",
    "HistoryPart",
    "HistoryRow",
    "Id",
    "ImportStatus",
    "ImportView",
    "Interval",
    "KeyList",
    "KeyView",
    "LogReport",
    "MadeKey",
    "Maturity",
    "Mode",
    "ModeReport",
    "Moment",
    "Name",
    "NewAction",
    "NewCampaign",
    "NewEvaluation",
    "NewKey",
    "Observed",
    "PeriodSeries",
    "PolicyReaction",
    "PolicyValue",
    "ProblemDetails",
    "Receipt",
    "ReceiptStatus",
    "RecordPage",
    "RecordType",
    "RecordView",
    "RefitStatus",
    "RefitView",
    "ReportCounts",
    "ReportStatus",
    "RequestBody",
    "Restored",
    "RewardInterval",
    "RewardReport",
    "RewardSilence",
    "Rotated",
    "Scope",
    "Seconds",
    "SecretList",
    "SecretView",
    "Share",
    "SignalChange",
    "SignalChanges",
    "SignalReport",
    "SignalReportRow",
    "SignalTable",
    "SignalTableRow",
    "Silence",
    "Timeseries",
    "TypicalDelay",
    "ValidityCell",
    "ValidityReport",
    "Verdict",
    "VoidReport",
]

_MODULES = (
    "fields",
    "problem",
    "decision_requests",
    "requests",
    "responses",
    "access_views",
    "history",
    "warm_start",
    "evaluation",
    "campaign_report",
    "curves",
)
"""Where the names are: what whoever decides needs comes first."""


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: whoever decides needs few of them."""
    if name in __all__:
        for module in _MODULES:
            home = importlib.import_module(f"{__name__}.{module}")
            if hasattr(home, name):
                value = globals()[name] = getattr(home, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
