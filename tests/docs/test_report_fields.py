"""Every field of every report is named in the section about it, in `docs/reference/reports.md`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from foretell import protocol
from foretell.protocol.campaign_report import ReportStatus, Verdict

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "reports.md").read_text("utf-8")
SECTIONS: dict[str, tuple[Any, ...]] = {
    "report": (
        protocol.CampaignReport,
        protocol.ReportCounts,
        protocol.ActionReport,
        protocol.Observed,
        protocol.ModeReport,
        protocol.RewardInterval,
        protocol.SignalReportRow,
        protocol.FreshnessReport,
        protocol.LogReport,
    ),
    "validity": (protocol.ValidityReport, protocol.ValidityCell),
    "timeseries": (protocol.Timeseries, protocol.Maturity, protocol.PeriodSeries),
    "delays": (protocol.DelayReport, protocol.Delays),
    "signals": (protocol.SignalTable, protocol.SignalTableRow),
    "changes": (protocol.SignalChanges, protocol.SignalChange, protocol.PolicyReaction),
}
EVERYWHERE = {"campaign", "as_of"}
"""Fields of all answers, which the first paragraph names."""


def section(name: str) -> str:
    """Return the text about one report."""
    found = re.search(rf"^## `GET …/{name}.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


def named(text: str) -> set[str]:
    """Return the last part of all that stands between backticks: `actions[].share` names share."""
    return {part for code in re.findall(r"`([^`\n]+)`", text) for part in re.findall(r"\w+", code)}


@pytest.mark.parametrize(
    ("name", "struct"), [(name, one) for name, all_of in SECTIONS.items() for one in all_of]
)
def test_every_field_is_named_in_its_section(name: str, struct: Any) -> None:
    tables = re.sub(r"```.*?```", "", section(name), flags=re.DOTALL)
    missing = set(struct.__struct_fields__) - named(tables) - EVERYWHERE
    assert missing == set()


def test_what_all_answers_have_is_said_first() -> None:
    assert named(PAGE[: PAGE.index("\n## ")]) >= EVERYWHERE


@pytest.mark.parametrize(("name", "kind"), [("report", ReportStatus), ("validity", Verdict)])
def test_every_status_and_verdict_is_explained(name: str, kind: Any) -> None:
    assert [one for one in get_args(kind) if f"`{one}`" not in section(name)] == []


def test_the_first_look_leads_to_the_page() -> None:
    live = (Path(__file__).parents[2] / "docs" / "live.md").read_text("utf-8")
    look = live[live.index("### Look") :]
    assert "reference/reports.md" in look[: look.index("\n### ", 4)]
