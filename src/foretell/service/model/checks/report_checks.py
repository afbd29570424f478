"""What a report of feedback must be, and the sentences that refuse another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from foretell.errors import UnknownName, listed
from foretell.protocol import FeedbackItem
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.errors import Unusable
from foretell.service.model.timestamps import format_timestamp, parse_timestamp

FAR_OUTSIDE = 10
"""A reward so many times outside its range is in another unit, or a mistake."""
TOLERATED_FUTURE = 300 * 1_000_000
"""Microseconds by which the clock of a client may be ahead."""


def refuse_mixed(item: FeedbackItem) -> None:
    """Refuse an event of a batch that is two things at once."""
    if item.signal is not None:
        if item.value is not None:
            raise Unusable(
                "an event has a signal or a value, got both: send two events", field="value"
            )
        if item.kind != "reward" or item.target is not None:
            given = {"kind": item.kind, "target": item.target}
            extra = {name: value for name, value in given.items() if value not in ("reward", None)}
            raise Unusable(
                f"a signal has no kind and no target, got "
                f"{' and '.join(f'{name} {value!r}' for name, value in extra.items())}: "
                f"leave {'them' if len(extra) > 1 else 'it'} out, or send two events",
                field=next(iter(extra)),
            )
    if item.kind == "void" and (item.value is not None or item.target is not None):
        raise Unusable(
            f"a void has no value and no target, got value {item.value} and target "
            f"{item.target!r}: leave them out",
            field="value",
        )


def refuse_empty(item: FeedbackItem, active: ActiveCampaign) -> None:
    """Refuse an event of a batch that says nothing."""
    nothing = item.signal is None and item.value is None and item.target is None
    if nothing and item.kind == "reward":
        raise Unusable(
            f"an event needs a signal, a value or a kind, got none of them: send the signal "
            f"(one of {listed(active.signals)}), the value of a reward, or the kind 'void'",
            field="value",
        )


def no_such(kind: str, name: str, known: Iterable[str]) -> str:
    """Return that there is no such action or signal, with the nearest one and all there are."""
    names = listed(known)
    unknown = str(UnknownName.of(kind, name, known))
    return unknown if names in unknown else f"{unknown} (there are {names})"


def is_far_outside(reward: float, reward_range: tuple[float, float]) -> bool:
    """Return whether a reward is so far outside its range that it is refused."""
    low, high = reward_range
    reach = (FAR_OUTSIDE - 1) * (high - low)
    return not low - reach < reward < high + reach


def checked_reward(report: Any, reward_range: tuple[float, float]) -> float:
    """Return the reward of a report, or refuse it."""
    value, kind, target = report.value, report.kind, report.target
    article = "an" if kind == "adjust" else "a"
    if kind == "reward" and target is not None:
        raise Unusable(
            f"a reward names no target, got {target!r}: leave it out, or make it an adjust or a "
            f"retract",
            field="target",
        )
    if kind != "reward" and target is None:
        raise Unusable(
            f"{article} {kind} needs the target: the event_id of the reward that it changes",
            field="target",
        )
    if kind == "retract":  # it takes back the whole reward, whatever its value says
        return 0.0
    if value is None:
        raise Unusable(f"{article} {kind} needs a value: send a number", field="value")
    if is_far_outside(value, reward_range):
        low, high = reward_range
        raise Unusable(
            f"value must be less than {FAR_OUTSIDE} times outside the reward_range [{low}, {high}] "
            f"of the campaign, got {value}: report it in the unit of the range, or change that",
            field="value",
        )
    return float(value)


def checked_time(written: str | None, latest: Callable[[], int]) -> int | None:
    """Return when something happened, in microseconds, or refuse a time that cannot be."""
    if written is None:
        return None
    occurred = parse_timestamp(written)
    if occurred is None:
        raise Unusable(
            f"occurred_at must be a time with its zone, got {written!r}: "
            f"write it as in 2026-01-31T12:00:00Z",
            field="occurred_at",
        )
    present = latest()
    if occurred > present + TOLERATED_FUTURE:
        raise Unusable(
            f"occurred_at must not be in the future, got {written!r} at "
            f"{format_timestamp(present)}: set the clock that wrote it, or leave it out",
            field="occurred_at",
        )
    return occurred
