"""An export of a campaign, as the history that another campaign is warm-started from."""

from __future__ import annotations

from typing import NamedTuple

from foretell.protocol import HistoryRow
from foretell.service.model.events import moment
from foretell.service.model.outcome import Rules, is_void, outcome_of
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.export_reader import ExportedLog


class ExportedHistory(NamedTuple):
    """The decisions of an export of which something is known."""

    rows: list[HistoryRow]
    left_out: int
    """Decisions that were never shown, or whose signal is still open."""


def exported_history(found: ExportedLog) -> ExportedHistory:
    """Return every decision with its outcome by the end of the export."""
    config, rules = found.config, Rules.of(found.config)
    rows = []
    for records in found.decisions:
        decided_at = records.decided_at
        closed = rules.closed_by(decided_at, moment(found.last))
        signal, reward = outcome_of(rules, records, closed)
        if signal is None or any(is_void(record) for record in records.feedback):
            continue
        rows.append(
            HistoryRow(
                action=config.actions[records.decided.action],
                signal=config.signals[int(signal)],
                reward=reward,
                decided_at=format_timestamp(decided_at),
                propensity=records.decided.propensity,
            )
        )
    return ExportedHistory(rows, len(found.decisions) - len(rows))
