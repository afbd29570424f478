"""What a campaign is in, in one sentence: what needs somebody comes first."""

from __future__ import annotations

from foretell import protocol
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.early_days import learning_sentence
from foretell.service.reports.freshness import Freshness
from foretell.service.reports.standstill import (
    not_running_sentence,
    quiet_sentence,
    rewards_stopped_sentence,
    signals_stopped_sentence,
    traffic_stopped_sentence,
)
from foretell.service.reports.traffic_pause import GOES_ON, TrafficPause, traffic_pause
from foretell.service.reports.uplift import uplift_sentence
from foretell.service.reports.verdict_sentence import verdict_sentence
from foretell.service.reports.words import chance, day, percent
from foretell.stats.value_now import ValuesNow

SURE, LIKELY = 0.95, 0.80
"""Probabilities from which on an action is the best, or probably is."""
LATELY = 14 * 86_400_000_000
"""Microseconds for which a change is spoken of."""
Status = tuple[protocol.ReportStatus, str]


def campaign_status(
    copy: CampaignCopy,
    fresh: Freshness,
    values: ValuesNow | None,
    modes: list[protocol.ModeReport],
    uplift: protocol.RewardInterval | None,
) -> Status:
    """Return the status of a campaign, the first that holds, and its sentence."""
    pause = GOES_ON
    if copy.config.status == "running":
        pause = traffic_pause(copy.counters.stretches, copy.as_of)
    return (
        _stopped(copy, fresh, pause)
        or _misleading(copy)
        or _behind(copy, modes, uplift)
        or _doubtful(copy)
        or _resting(copy, pause)
        or _best(copy, values, modes, uplift)
    )


def _stopped(copy: CampaignCopy, fresh: Freshness, pause: TrafficPause) -> Status | None:
    if fresh.stopped:
        return "rewards stopped", rewards_stopped_sentence(copy, fresh)
    if fresh.signals_stopped:
        return "signals stopped", signals_stopped_sentence(copy, fresh)
    if pause.kind == "stopped":
        return "traffic stopped", traffic_stopped_sentence(copy, pause)
    return None


def _misleading(copy: CampaignCopy) -> Status | None:
    if copy.judgement.verdict == "misleading":
        return "misleading signal", verdict_sentence(copy)
    return None


def _behind(
    copy: CampaignCopy,
    modes: list[protocol.ModeReport],
    uplift: protocol.RewardInterval | None,
) -> Status | None:
    if uplift is None or uplift.high >= 0.0:
        return None
    return "holdout ahead", (
        f"The holdout earns more than the policy, and that is no chance. "
        f"{uplift_sentence(copy, modes, uplift)} Every decision of the policy costs "
        f"{-uplift.mean:.3f} {copy.reward_word} meanwhile: raise holdout until it is known why, or "
        f"try another policy (POST …/evaluations says what it would have earned)."
    )


def _doubtful(copy: CampaignCopy) -> Status | None:
    if copy.judgement.verdict == "doubtful":
        return "doubtful signal", verdict_sentence(copy)
    return None


def _resting(copy: CampaignCopy, pause: TrafficPause) -> Status | None:
    """Return the status of a campaign that does not run, or of which nothing is known yet."""
    status = "stopped" if copy.config.ended else copy.config.status
    if status == "paused" or status == "stopped" or status == "draft":  # noqa: PLR1714  (types)
        return status, not_running_sentence(copy)
    if pause.kind != "none":
        return "quiet", quiet_sentence(copy, pause)
    if copy.refit_share is not None:
        return "rebuilding", (
            f"The policy is being rebuilt from the log, {percent(copy.refit_share)} done. The old "
            f"one decides until then."
        )
    if not copy.counters.paid.any():
        return "learning", learning_sentence(copy)
    return None


def _best(
    copy: CampaignCopy,
    values: ValuesNow | None,
    modes: list[protocol.ModeReport],
    uplift: protocol.RewardInterval | None,
) -> Status:
    names, earned = copy.config.actions, uplift_sentence(copy, modes, uplift)
    if values is None:
        return "undecided", f"No action stands out yet. {earned}"
    first, second = values.best.argsort()[::-1][:2].tolist()
    likely = float(values.best[first])
    if likely < LIKELY:
        close = f"{names[first]} and {names[second]} are close"
        return "undecided", f"No action stands out yet: {close}. {earned}"
    word = "is" if likely >= SURE else "is probably"
    lead = f"{_since_change(copy)}{names[first]} {word} the best choice ({chance(likely)})."
    if copy.choosable.sum() == 1:
        lead = f"{names[first]} is the only action that can be chosen."
    unsure = uplift is not None and uplift.low <= 0.0
    return "undecided" if unsure else "healthy", f"{lead} {earned}"


def _since_change(copy: CampaignCopy) -> str:
    """Return since which change that holds, where one was found lately; else nothing."""
    stretch = int(copy.changed.max())
    at = copy.counters.stretches.begin(stretch)
    if not stretch or copy.as_of - at > LATELY:
        return ""
    return f"Since the change of {day(at, copy.as_of)}, "
