"""From the rows of an earlier log to a record of this one, and the sentences that refuse others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from foretell.protocol import HistoryPart, HistoryRow
from foretell.service.model.checks.report_checks import (
    FAR_OUTSIDE,
    TOLERATED_FUTURE,
    is_far_outside,
    no_such,
)
from foretell.service.model.errors import Unusable
from foretell.service.model.events import AnyEvent, Author, Imported
from foretell.service.model.imported_rows import UNTIMED, ImportedRows, pack_rows, unpack_rows
from foretell.service.model.timestamps import format_timestamp, parse_timestamp

RowName = Callable[[int], str]
"""Returns what a row is called in a sentence, by its index."""


class RowRules(NamedTuple):
    """What a campaign takes."""

    actions: dict[str, int]
    signals: dict[str, int]
    reward_range: tuple[float, float]
    present: int
    """The moment after which nothing can have been decided, in microseconds."""

    @classmethod
    def of(
        cls,
        actions: Iterable[str],
        signals: Iterable[str],
        reward_range: tuple[float, float],
        present: int,
    ) -> RowRules:
        """Return the rules of a campaign with these actions and signals, in their order."""
        return cls(
            {name: index for index, name in enumerate(actions)},
            {name: index for index, name in enumerate(signals)},
            reward_range,
            present,
        )


def row_in_body(index: int) -> str:
    """Return what a row is called that came in the body of a request."""
    return f"rows[{index}]"


def checked_rows(
    rows: list[HistoryRow], rules: RowRules, name: RowName = row_in_body
) -> ImportedRows:
    """Return rows with numbers in place of names, or refuse the first that cannot be used."""
    actions, signals, times = [], [], []
    for index, row in enumerate(rows):
        for kind, value, known in (
            ("action", row.action, rules.actions),
            ("signal", row.signal, rules.signals),
        ):
            if value not in known:
                raise _refused(name(index), kind, no_such(kind, value, known))
        actions.append(rules.actions[row.action])
        signals.append(rules.signals[row.signal])
        _check_numbers(row, rules, name(index))
        times.append(_time(row, rules, name(index)))
    rewards = [math.nan if row.reward is None else row.reward for row in rows]
    propensities = [math.nan if row.propensity is None else row.propensity for row in rows]
    return ImportedRows(
        np.array(actions, np.int64),
        np.array(signals, np.int64),
        np.array(rewards, np.float64),
        np.array(propensities, np.float64),
        np.array(times, np.int64),
    )


def _check_numbers(row: HistoryRow, rules: RowRules, name: str) -> None:
    if row.reward is not None and is_far_outside(row.reward, rules.reward_range):
        low, high = rules.reward_range
        raise _refused(
            name,
            "reward",
            f"reward must be less than {FAR_OUTSIDE} times outside the reward_range "
            f"[{low}, {high}] of the campaign, got {row.reward}: import it in the unit of the "
            f"range, or change that",
        )


def _time(row: HistoryRow, rules: RowRules, name: str) -> int:
    written = row.decided_at
    if written is None:
        return UNTIMED
    found = parse_timestamp(written)
    if found is None:
        raise _refused(
            name,
            "decided_at",
            f"decided_at must be a time with its zone, got {written!r}: "
            f"write it as in 2026-01-31T12:00:00Z, or leave it out",
        )
    if found > rules.present + TOLERATED_FUTURE:
        raise _refused(
            name,
            "decided_at",
            f"decided_at must not be in the future, got {written!r} at "
            f"{format_timestamp(rules.present)}: import what was decided, or leave the time out",
        )
    return found


def _refused(row: str, field: str, said: str) -> Unusable:
    return Unusable(f"{row}: {said}", field=f"{row}.{field}")


def imported_event(part: HistoryPart, rows: ImportedRows, by: Author | None) -> Imported:
    """Return the record of a part."""
    timed = rows.decided_at[rows.decided_at != UNTIMED]
    return Imported(
        id=part.id,
        part=part.part,
        decisions=len(part.rows),
        rewards=int(np.count_nonzero(~np.isnan(rows.reward))),
        first=int(timed.min()) if timed.size else None,
        last=int(timed.max()) if timed.size else None,
        rows=pack_rows(rows),
        ends=part.last,
        by=by,
    )


def same_part(one: AnyEvent, other: Imported) -> bool:
    """Return whether two records hold the same part of a history, whoever sent them."""
    if not isinstance(one, Imported) or (one.decisions, one.ends) != (other.decisions, other.ends):
        return False
    pairs = zip(unpack_rows(one.rows), unpack_rows(other.rows), strict=True)
    return all(mine.tobytes() == others.tobytes() for mine, others in pairs)
