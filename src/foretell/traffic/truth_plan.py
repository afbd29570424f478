"""A planted truth as the plan of a live run: what is sent, and what the server says in the end."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import msgspec

from foretell.errors import InvalidInput
from foretell.policies import entry, policy
from foretell.protocol import CampaignReport, ValidityReport
from foretell.traffic.faults import Faults
from foretell.traffic.plan import Plan
from foretell.traffic.truths import ACTIONS, SIGNALS, TRUTHS, Truth, shown

ENOUGH_RIGHT = 0.9
"""The share of campaigns that are to say what was planted."""


class TruthFinding(NamedTuple):
    """What a server says of a campaign when its last round is over, and what is true then."""

    campaign: str
    report: CampaignReport
    validity: ValidityReport
    values: list[float]
    """What each action is worth."""

    def to_dict(self) -> dict[str, Any]:
        """Return all as plain data."""
        plain: dict[str, Any] = msgspec.to_builtins(self._asdict())
        return plain


@dataclasses.dataclass(frozen=True)
class TruthPlan(Plan):
    """The traffic of a planted truth: nothing is lost, late or sent twice, but what is planted."""

    truth: Truth = TRUTHS["valid"]

    @property
    def stops_at(self) -> int | None:
        """The round from which on no reward is sent."""
        return self.truth.stops_at

    def signal_names(self) -> list[str]:
        """Return what each outcome is reported as."""
        return [SIGNALS[shown(outcome)] for outcome in range(self.scenario.signals)]

    def action_names(self) -> list[str]:
        """Return the names of the actions."""
        return list(ACTIONS)

    def campaign(self, name: str, signal_window: float, reward_window: float) -> dict[str, Any]:
        """Return the campaign of a run; windows in seconds of the server."""
        return self.truth.campaign() | {
            "name": name,
            "policy": str(self.spec),
            "signal_window": signal_window,
            "reward_window": reward_window,
        }

    def complaint(self, findings: list[TruthFinding], miscounts: list[str]) -> str | None:
        """Say in one sentence what is wrong, if anything is."""
        if miscounts:
            return miscounts[0]
        right = sum(one.validity.verdict == self.truth.verdict for one in findings)
        if right >= ENOUGH_RIGHT * len(findings):
            return None
        return (
            f"{right} of {len(findings)} campaigns say {self.truth.verdict!r}, which was planted: "
            f"the report is wrong, or the server was too slow for its windows"
        )


def make_truth_plan(name: str, spec: str, **settings: Any) -> TruthPlan:
    """Make the plan of a planted truth, or raise InvalidInput."""
    truth, chosen = TRUTHS[name], policy(spec)
    if entry(chosen).lab_only:
        raise InvalidInput(
            f"{chosen.name} needs what nobody knows outside a simulation: choose another policy"
        )
    return TruthPlan(
        name,
        truth.scenario(),
        chosen,
        truth.rounds,
        silence="default",
        faults=Faults(),
        truth=truth,
        **settings,
    )
