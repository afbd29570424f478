"""Tables: shown in the report, written as CSV."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.html_table import html_table

if TYPE_CHECKING:
    from foretell.studies.claim import Results
    from foretell.studies.plan import FinishedStudy


@dataclass(frozen=True)
class ReportTable:
    """Named columns and rows of text or numbers."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]

    def _repr_html_(self) -> str:
        return html_table(self.title, self.columns, self.rows)

    def to_csv(self, path: Path) -> None:
        """Write the table with its header."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(self.rows)


def final_regret_table(results: Results) -> ReportTable:
    """Return the final regret of every policy in every panel, with its interval."""
    rows = []
    for panel, batches in results.items():
        for name, batch in batches.items():
            low, high = batch.interval()[:, -1]
            rows.append(
                (
                    panel,
                    name,
                    batch.runs,
                    round(float(batch.final.mean()), 2),
                    round(float(low), 2),
                    round(float(high), 2),
                    round(float(batch.final.std(ddof=1)) if batch.runs > 1 else 0.0, 2),
                )
            )
    columns = ("scenario", "policy", "runs", "final regret", "low", "high", "spread")
    return ReportTable("final-regret", "Final regret, with its 95 % interval", columns, tuple(rows))


def verdict_table(finished: list[FinishedStudy]) -> ReportTable:
    """List every claim with its verdict and its numbers."""
    rows = tuple(
        (
            one.study.name,
            verdict.claim.name,
            verdict.claim.words,
            verdict.claim.source,
            verdict.word,
            verdict.finding.measured,
            verdict.claim.definition,
            "not supported" if not verdict.control.holds else "supported",
            verdict.control.measured,
        )
        for one in finished
        for verdict in one.verdicts
    )
    columns = (
        "study",
        "claim",
        "words",
        "source",
        "verdict",
        "measured",
        "definition",
        "control",
        "control measured",
    )
    return ReportTable("claims", "Claims", columns, rows)
