"""From a report of a signal or a reward to a line of the log."""

from __future__ import annotations

import math
import secrets
from typing import Any

import msgspec

from foretell.errors import listed
from foretell.live.api import BatchItem, RewardReport, SignalReport
from foretell.live.clock import moment
from foretell.live.events import Feedback, Rewarded, Signalled
from foretell.live.problems import Unusable
from foretell.live.tokens import Token


def line_of(
    report: SignalReport | RewardReport | BatchItem, token: Token, now: int, signals: dict[str, int]
) -> Feedback:
    """Give the line of a report, or say why it cannot be used."""
    event_id = report.event_id or secrets.token_hex(8)
    occurred = _occurred(report.occurred_at)
    signal = getattr(report, "signal", None)
    if isinstance(report, BatchItem) and signal is not None:
        if report.value is not None:
            raise Unusable("an event is a signal or a reward, got both: send two events")
        if report.kind != "reward" or report.target is not None:
            raise Unusable("a signal has no kind and no target: leave them out")
    if signal is not None:
        if signal not in signals:
            raise Unusable(f"there is no signal {signal!r}: choose one of {listed(signals)}")
        return Signalled(
            now, token.round, event_id, token.made, signals[signal], report.occurred_at
        )
    value, target = _reward(report)
    return Rewarded(
        now,
        token.round,
        event_id,
        token.made,
        report.kind,  # type: ignore[union-attr]
        value,
        target,
        report.occurred_at,
        occurred,
    )


def same(one: Any, other: Any) -> bool:
    """Tell whether two lines say the same, whenever they came."""
    return type(one) is type(other) and msgspec.structs.replace(one, at=0) == (
        msgspec.structs.replace(other, at=0)
    )


def _reward(report: Any) -> tuple[float, str | None]:
    value, kind, target = report.value, report.kind, report.target
    one = f"{'an' if kind == 'adjust' else 'a'} {kind}"
    if kind == "reward" and target is not None:
        raise Unusable("a reward names no target: leave it out, or make it an adjust or a retract")
    if kind != "reward" and target is None:
        raise Unusable(f"{one} needs the target: the event_id of the reward that it changes")
    if kind == "retract":
        if value is not None:
            raise Unusable("a retract takes a reward back, and has no value: leave it out")
        return 0.0, target
    if value is None:
        raise Unusable(f"{one} needs a value: a number")
    if not math.isfinite(value) or abs(value) > 1e300:
        raise Unusable(f"a reward must lie within ±1e300, got {value}: report such a number")
    return float(value), target


def _occurred(written: str | None) -> int | None:
    if written is None:
        return None
    read = moment(written)
    if read is None:
        raise Unusable(
            f"occurred_at must be a time with its zone as in 2026-01-31T12:00:00Z, got {written!r}"
        )
    return read
