"""The sentences that the pages say themselves: each answers the question of its section."""

from __future__ import annotations

from foretell import protocol
from foretell.service.reports.words import SPACE, chance, many, percent
from foretell.service.ui.formats import count, interval, shown_difference, signed, when

SURE, LIKELY = 0.95, 0.80
TOO_LOW = " The numbers are too low: rewards have stopped, and silence counts as none."


def best_actions(report: protocol.CampaignReport) -> list[protocol.ActionReport]:
    """Return the actions that can be the best, the likeliest first."""
    rated = [one for one in report.actions if one.best is not None]
    return sorted(rated, key=lambda one: -(one.best or 0.0))


def actions_answer(report: protocol.CampaignReport) -> str:
    """Return which action wins."""
    rated = best_actions(report)
    if not rated:
        return "Too early: it can be said when the first rewards are settled."
    first, likely = rated[0], rated[0].best or 0.0
    if likely < LIKELY and len(rated) > 1:
        said = (
            f"No action stands out yet: {first.action} ({chance(likely)}) and "
            f"{rated[1].action} ({chance(rated[1].best or 0.0)}) are close."
        )
    else:
        word = "is" if likely >= SURE else "is probably"
        said = f"{first.action} {word} the best choice ({chance(likely)})."
    apart = sum(one.sentence is not None for one in report.actions)
    if apart:
        of, below = ("one action", "it") if apart == 1 else (f"{apart} actions", "each")
        said += (
            f" For {of} the record and the present disagree: the line below {below} says which to "
            f"go by."
        )
    return said + (TOO_LOW if report.status == "rewards stopped" else "")


def traffic_answer(report: protocol.CampaignReport) -> str:
    """Return where the traffic goes."""
    if not report.counts.decisions:
        return "Nowhere yet: nobody has asked for a decision."
    lately = max(report.actions, key=lambda one: one.recent_share or 0.0)
    ever = max(report.actions, key=lambda one: one.share)
    if lately.recent_share is None:
        return (
            f"{ever.action} had {percent(ever.share)} of the policy’s choices; nothing was decided "
            f"lately."
        )
    said = f"{lately.action} has had {percent(lately.recent_share)} of the policy’s choices lately"
    if ever.action == lately.action:
        return f"{said}, and {percent(ever.share)} since the campaign began."
    return f"{said}; since the campaign began {ever.action} had most, {percent(ever.share)}."


def uplift_answer(report: protocol.CampaignReport, view: protocol.CampaignView) -> str:
    """Return whether the policy earns more than chance would."""
    found = report.uplift
    if found is None:
        if not view.holdout:
            return "Unknown: this campaign has no holdout to compare with."
        return "Too early: policy and holdout both need settled rewards."
    said = _uplift(report, found, view.reward_name or "rewards")
    return said + (TOO_LOW if report.status == "rewards stopped" else "")


def _uplift(report: protocol.CampaignReport, found: protocol.RewardInterval, word: str) -> str:
    ends = interval(found).replace(" ", SPACE)
    earned = f"{signed(found.mean)} {word} per decision {ends}"
    holdout = next((one.mean for one in report.modes if one.mode == "holdout"), 0.0)
    relative = (
        f", {percent(found.mean / holdout)} more than the holdout earns" if holdout > 0 else ""
    )
    if found.low > 0.0:
        return f"Yes: {earned}{relative}. The interval excludes 0."
    if found.high < 0.0:
        return f"No: the holdout earns more. The policy has {earned}."
    return f"Not sure yet: {earned}. The interval holds 0, so it may be chance."


def pending_answer(report: protocol.CampaignReport) -> str:
    """Return what is still open."""
    counts = report.counts
    if not counts.decisions:
        return "Nothing: no decision was made yet."
    if not counts.open_rewards:
        return "Nothing: the reward of every decision is settled."
    share = percent(counts.open_rewards / counts.decisions)
    wait, their = ("waits", "its") if counts.open_rewards == 1 else ("wait", "their")
    too = f"{many(counts.open_signals, 'of them for its', 'of them for their')} signal too"
    if not counts.open_signals:
        too = "and for no signal"
    elif counts.open_rewards == counts.open_signals:
        too = f"and for {their} signal too"
    return (
        f"{count(counts.open_rewards)} of {many(counts.decisions, 'decision')} ({share}) {wait} "
        f"for {their} reward, {too}. Silence counts when the window closes, not before."
    )


def signal_value_answer(
    view: protocol.CampaignView,
    result: protocol.EvaluationResult | None,
    *,
    asked: bool = False,
) -> str:
    """Return what is earned by using the signal, instead of waiting for rewards."""
    word = view.reward_name or "rewards"
    if result is None and asked:
        return "Being found out: the log is replayed with the signals hidden."
    if result is None:
        return (
            "Not asked yet: the log can be replayed with the signals hidden, to see what the same "
            "policy would have earned by waiting for rewards."
        )
    if result.without_signal is None:
        return "Nothing is to be said: this policy uses no signals."
    using, waiting = result.value.doubly_robust, result.without_signal.doubly_robust
    if using.mean is None or waiting.mean is None:
        return "The log does not hold enough to say."
    more = shown_difference(using.mean, waiting.mean)
    gain = f"{more} {word} per decision against waiting for rewards"
    above = (using.low or 0.0) > (waiting.high or 0.0)
    if above or (using.high or 0.0) < (waiting.low or 0.0):
        return f"{'Yes' if above else 'No'}: {gain}, and the two intervals do not overlap."
    return f"Not sure: {gain}, but the two intervals overlap."


def policies_answer(found: protocol.EvaluationList) -> str:
    """Return whether another policy would have earned more."""
    done = [one for one in found.evaluations if one.result is not None]
    if not done and found.evaluations:
        return "Not known yet: below it says how far the trial is, or why there is no answer."
    if not done:
        return "Not asked yet: any policy can be tried on this campaign’s own log."
    better = [
        one.policy
        for one in done
        if one.result is not None and (one.result.value.gain.low or 0.0) > 0.0
    ]
    if better:
        return f"By this log, yes: {', '.join(dict.fromkeys(better))}."
    of = "the one tried is not" if len(done) == 1 else f"none of the {len(done)} tried is"
    return f"Not by this log: {of} better than what ran, beyond chance."


def fleet_answer(rows: list[tuple[str, str]]) -> str:
    """Return how many campaigns there are, by name and status, and what needs somebody."""
    running = sum(status not in {"draft", "paused", "stopped"} for _, status in rows)
    said = f"{running} campaign{' runs' if running == 1 else 's run'}"
    resting = len(rows) - running
    return f"{said}, {resting} {'does' if resting == 1 else 'do'} not." if resting else f"{said}."


def history_answer(history: list[protocol.RecordView], now: str) -> str:
    """Return who changed what last; the newest record is the first."""
    if not history:
        return "Not to be read while the log is closed."
    last = history[0]
    if last.type == "created":
        return "Nobody has changed anything since the campaign was made."
    return f"The last change was on {when(last.recorded_at, now)}: {change_sentence(last)}"


def change_sentence(record: protocol.RecordView) -> str:
    """Return who changed what, as the record says it."""
    body = record.body
    if "sentence" in body:
        return str(body["sentence"])
    if record.type != "created":
        return f"{record.type.capitalize()}."
    who = f"Key {body['by']['name']}" if "by" in body else "The server"
    return f"{who} made the campaign."
