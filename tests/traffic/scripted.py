"""A service that plays what it is told to, and remembers what it is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from foretell.protocol import (
    CampaignReport,
    DecisionAnswer,
    FeedbackItem,
    FreshnessReport,
    LogReport,
    ReportCounts,
    ValidityReport,
)
from foretell.traffic.plan import Plan
from foretell.traffic.run import Traffic

STEP = 60.0
"""Seconds of its clock from a decision to the next one."""


class Scripted:
    """Decides by a function of the run and the round; its clock goes on with each decision."""

    def __init__(self, script: Callable[[int, int], int]) -> None:
        self.script = script
        self.campaigns: dict[str, dict[str, Any]] = {}
        self.decisions: dict[tuple[str, str], DecisionAnswer] = {}
        self.events: list[FeedbackItem] = []
        self.forget: Callable[[FeedbackItem], bool] = lambda event: False
        self.now = 0.0

    async def create(self, campaign: dict[str, Any]) -> None:
        self.campaigns[campaign["name"]] = campaign

    async def decide(self, campaign: str, key: str) -> DecisionAnswer:
        if (campaign, key) not in self.decisions:
            probed = "-probe-" in campaign
            round_ = 0 if probed else int(key.rpartition("-")[2])
            action = 0 if probed else self.script(int(campaign.rpartition("-")[2]), round_)
            self.now += STEP
            due = datetime.fromtimestamp(
                self.now + self.campaigns[campaign]["reward_window"], UTC
            ).isoformat()
            self.decisions[campaign, key] = DecisionAnswer(
                f"{campaign}/{round_}",
                self.campaigns[campaign]["actions"][action],
                1.0,
                "script",
                due,
                "policy",
            )
        return self.decisions[campaign, key]

    async def report(self, events: Sequence[FeedbackItem]) -> list[str]:
        known = {(event.decision_id, event.event_id) for event in self.events}
        self.events += events
        return [
            "duplicate" if (event.decision_id, event.event_id) in known else "accepted"
            for event in events
        ]

    async def counts(self, campaign: str) -> ReportCounts:
        mine = {
            msgspec.json.encode(event): event
            for event in self.events
            if event.decision_id.startswith(f"{campaign}/") and not self.forget(event)
        }
        signals = sum(event.signal is not None for event in mine.values())
        decisions = sum(name == campaign for name, _ in self.decisions)
        return ReportCounts(decisions, signals, len(mine) - signals)

    async def verdict(self, campaign: str) -> tuple[CampaignReport, ValidityReport]:
        """Say of every signal that it is valid."""
        freshness = FreshnessReport(None, None, None, None, 0, 0)
        report = CampaignReport(
            campaign=campaign,
            status="healthy",
            sentence="All is well.",
            policy="script",
            counts=await self.counts(campaign),
            actions=[],
            modes=[],
            uplift=None,
            signals=[],
            freshness=freshness,
            log=LogReport("0", "", ""),
        )
        return report, ValidityReport(campaign, "", "valid", 1.0, None, None, "It is valid.", [])


async def driven(plan: Plan, service: Any) -> Traffic:
    """Drive the whole traffic of a plan."""
    traffic = Traffic(plan)
    await traffic.drive(service, lambda rounds: None)
    return traffic
