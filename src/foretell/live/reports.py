"""What a campaign has come to, read off its counts, its state and its lines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from foretell.live import api
from foretell.live.changes import change_places
from foretell.live.clock import text
from foretell.live.events import AnyEvent, Decided, Rewarded, Setup, Signalled
from foretell.live.ledger import Facts, Rules, lacks_target, rewards, standing
from foretell.live.running import Running
from foretell.live.store.lines import Stored
from foretell.live.tally import COUNTS
from foretell.types import GRAIN

Z = 1.96
"""Standard deviations of a 95 % interval."""
AGES = 40
"""Points of a delay curve."""


def report(live: Running, head: int) -> api.Report:
    """Give the report of a campaign."""
    campaign, setup, tally = live.campaign, live.setup, live.campaign.tally
    counts = api.Counts(**{name: int(tally.counts[place]) for place, name in enumerate(COUNTS)})
    counts.duplicates = live.counts.get("duplicates", 0)
    counts.rejected = live.counts.get("rejected", 0)
    counts.open_signals = campaign.decided - int(tally.seen.sum())
    counts.open_rewards = campaign.decided - int(tally.paid.sum())
    return api.Report(
        campaign=setup.name,
        status=setup.status,
        policy=setup.policy,
        counts=counts,
        actions=_actions(live),
        signals=signal_rows(live),
        log=api.LogReport(head, text(campaign.as_of), campaign.digest()),
    )


def _actions(live: Running) -> list[api.ActionReport]:
    """Give each action's traffic and value: its signals' shares times what each is worth."""
    setup, tally = live.setup, live.campaign.tally
    decided = tally.decided.sum(axis=0)
    worth = [_wilson(*pair) for pair in zip(tally.paid.sum(0), tally.grains.sum(0), strict=True)]
    rows = []
    for place, action in enumerate(setup.actions):
        seen = tally.seen[place]
        known = seen.sum() > 0 and all(worth[s] is not None for s in np.flatnonzero(seen))
        value = low = high = None
        if known:
            shares = seen / seen.sum()
            centres = np.array([0.0 if one is None else one[0] for one in worth])
            halves = np.array([0.0 if one is None else (one[2] - one[1]) / 2 for one in worth])
            mean = float(shares @ centres)
            law = float(shares @ (centres - mean) ** 2) / float(seen.sum())
            half = math.sqrt(Z * Z * law + float((shares * halves) @ (shares * halves)))
            value, low, high = (
                _natural(setup, one) for one in (mean, max(0.0, mean - half), min(1.0, mean + half))
            )
        rows.append(
            api.ActionReport(
                action,
                setup.standing[place],
                int(decided[place]),
                float(decided[place] / max(1, decided.sum())),
                value,
                low,
                high,
            )
        )
    return rows


def signal_rows(live: Running) -> list[api.SignalReportRow]:
    """Give what each signal is worth."""
    setup, tally = live.setup, live.campaign.tally
    rows = []
    for place, signal in enumerate(setup.signals):
        paid = int(tally.paid[:, place].sum())
        worth = _wilson(paid, int(tally.grains[:, place].sum()))
        theta, low, high = (None, None, None) if worth is None else worth
        rows.append(
            api.SignalReportRow(
                signal,
                None if theta is None else _natural(setup, theta),
                None if low is None else _natural(setup, low),
                None if high is None else _natural(setup, high),
                paid,
                int(tally.seen[:, place].sum()),
            )
        )
    return rows


def signals(live: Running) -> api.SignalTable:
    """Give the settled signals by action."""
    setup, tally = live.setup, live.campaign.tally
    rows = [
        api.SignalTableRow(
            action,
            int(tally.seen[place].sum()),
            _rates(setup, tally.seen[place]),
        )
        for place, action in enumerate(setup.actions)
    ]
    return api.SignalTable(setup.name, rows, signal_rows(live))


def timeseries(live: Running) -> api.Timeseries:
    """Give the campaign over time."""
    setup, tally = live.setup, live.campaign.tally
    first, width = int(tally.clock[0]), int(tally.clock[1])
    points = []
    filled = np.flatnonzero(tally.decided.sum(axis=1))
    for stretch in range(int(filled[-1]) + 1 if filled.size else 0):
        paid, grains = (int(one) for one in tally.rewarded[stretch])
        decisions = tally.decided[stretch]
        points.append(
            api.SeriesPoint(
                at=text(first + stretch * width),
                decisions={
                    setup.actions[place]: int(decisions[place])
                    for place in np.flatnonzero(decisions)
                },
                signals={
                    name: int(count)
                    for name, count in zip(
                        setup.signals, tally.signalled[stretch].sum(axis=0), strict=True
                    )
                },
                rewards=paid,
                reward=_natural(setup, grains / GRAIN / paid) if paid else None,
                mature=paid == int(decisions.sum()),
            )
        )
    return api.Timeseries(setup.name, width / 1e6, points)


def changes(live: Running) -> api.Changes:
    """Give the moments at which the signals of an action changed."""
    setup, tally = live.setup, live.campaign.tally
    found = []
    for place, action in enumerate(setup.actions):
        counts = tally.signalled[:, place]
        places = change_places(counts, len(setup.actions))
        edges = [0, *places, len(counts)]
        for number, stretch in enumerate(places):
            found.append(
                api.Change(
                    action,
                    text(int(tally.clock[0] + stretch * tally.clock[1])),
                    _rates(setup, counts[edges[number] : stretch].sum(axis=0)),
                    _rates(setup, counts[stretch : edges[number + 2]].sum(axis=0)),
                )
            )
    return api.Changes(setup.name, found)


def delays(setup: Setup, rules: Rules, every: Iterable[Facts], now: int) -> api.Delays:
    """Give how long signals and rewards take, by the signal that the decision stands at."""
    signal_ages: list[list[float]] = [[] for _ in setup.signals]
    reward_ages: list[list[float]] = [[] for _ in setup.signals]
    decisions = [0] * len(setup.signals)
    total = 0
    for facts in every:
        total += 1
        stands = standing(rules, facts, now).signal
        made = facts.decided.at
        for _, event in facts.lines:
            if isinstance(event, Signalled):
                signal_ages[event.signal].append((event.at - made) / 1e6)
        if stands is None:
            continue
        decisions[stands] += 1
        paid = [event.at for _, event in facts.lines if isinstance(event, Rewarded)]
        if paid:
            reward_ages[stands].append((min(paid) - made) / 1e6)
    return api.Delays(
        setup.name,
        total,
        [_curve(*one) for one in zip(setup.signals, decisions, signal_ages, strict=True)],
        [_curve(*one) for one in zip(setup.signals, decisions, reward_ages, strict=True)],
    )


def _curve(signal: str, decisions: int, ages: list[float]) -> api.DelayRow:
    ordered = sorted(ages)
    shares = [(place + 1) / AGES for place in range(AGES)] if ordered else []
    points = [ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in shares]
    return api.DelayRow(signal, decisions, len(ordered), points, shares)


def story(
    decision_id: str, live: Running, seq: int, facts: Facts, context: bytes, policy: str
) -> api.Story:
    """Give all about one decision, which was made by `policy`."""
    campaign, setup, decided = live.campaign, live.setup, facts.decided
    stands = standing(campaign.rules, facts, campaign.as_of)
    rules = campaign.rules
    paid = rewards(facts.lines)
    events = [_story_line(setup, seq, decided, "accepted")]
    for number, event in facts.lines:
        due = rules.signal_due if isinstance(event, Signalled) else rules.reward_due
        status: api.Verdict = "late" if event.at >= due(decided.at) else "accepted"
        if isinstance(event, Rewarded) and lacks_target(event, paid):
            status = "parked"
        events.append(_story_line(setup, number, event, status))
    return api.Story(
        decision_id=decision_id,
        campaign=setup.name,
        round=decided.round,
        at=text(decided.at),
        action=setup.actions[decided.action],
        propensity=decided.propensity,
        mode=decided.mode,
        policy=policy,
        eligible=_eligible(setup, decided),
        signal=None if stands.signal is None else setup.signals[stands.signal],
        signal_due_at=text(rules.signal_due(decided.at)),
        reward=stands.reward,
        reward_due_at=text(rules.reward_due(decided.at)),
        context=msgspec.json.decode(context) if context else None,
        events=events,
    )


def _story_line(setup: Setup, seq: int, event: AnyEvent, status: api.Verdict) -> api.StoryEvent:
    line = log_line(setup, Stored(seq, 0, event))
    names = ("event_id", "signal", "value", "kind", "target", "occurred_at")
    return api.StoryEvent(
        seq, line.at, line.type, status=status, **{name: line.body.get(name) for name in names}
    )


def log_line(setup: Setup, stored: Stored) -> api.LogLine:
    """Write a line of the log with names in place of numbers."""
    event = stored.event
    body: dict[str, Any] = {
        name: value
        for name, value in msgspec.structs.asdict(event).items()
        if value is not None
        and name not in ("at", "request", "occurred", "made", "secret", "digest")
    }
    if isinstance(event, Decided):
        body["action"] = setup.actions[event.action]
        body["eligible"] = _eligible(setup, event)
    elif isinstance(event, Signalled):
        body["signal"] = setup.signals[event.signal]
    elif isinstance(event, Rewarded) and event.kind == "retract":
        del body["value"]
    if "setup" in body:
        body["setup"] = msgspec.structs.asdict(body["setup"])
    kind = str(type(event).__struct_config__.tag)
    return api.LogLine(stored.seq, text(event.at), kind, body)


def _eligible(setup: Setup, decided: Decided) -> list[str]:
    if isinstance(decided.eligible, int):
        return list(setup.actions[: decided.eligible])
    bits = np.unpackbits(np.frombuffer(decided.eligible, np.uint8))
    return [setup.actions[place] for place in np.flatnonzero(bits)]


def _rates(setup: Setup, counts: Any) -> dict[str, float]:
    total = max(1, int(counts.sum()))
    return {name: float(one / total) for name, one in zip(setup.signals, counts, strict=True)}


def _wilson(count: int, grains: int) -> tuple[float, float, float] | None:
    """Give a mean of rewards in [0, 1] and an interval that holds whatever their spread is."""
    if count == 0:
        return None
    mean = grains / GRAIN / count
    scale = 1.0 + Z * Z / count
    centre = (mean + Z * Z / (2 * count)) / scale
    half = Z * math.sqrt(max(0.0, mean * (1 - mean)) / count + Z * Z / (4 * count**2)) / scale
    return mean, max(0.0, centre - half), min(1.0, centre + half)


def _natural(setup: Setup, unit: float) -> float:
    low, high = setup.reward_range
    return low + unit * (high - low)
