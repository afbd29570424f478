"""What `foretell simulate-traffic --truth` prints: what a server says beside what was planted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from foretell.cli.output import print_table

if TYPE_CHECKING:
    from foretell.protocol import RewardInterval
    from foretell.traffic.run import Traffic
    from foretell.traffic.truth_plan import TruthFinding, TruthPlan


def show_truth(plan: TruthPlan, traffic: Traffic, *, as_json: bool) -> str | None:
    """Print what was planted and what is said of it; return what is wrong, if anything is."""
    runs = sorted(traffic.runs, key=lambda run: run.number)
    findings = [run.finding for run in runs if run.finding is not None]
    complaint = plan.complaint(findings, [sentence for run in runs for sentence in run.miscounts])
    if as_json:
        found = {
            "truth": plan.name,
            "planted": plan.truth.sentence,
            "verdict": plan.truth.verdict,
            "complaint": complaint,
            "campaigns": [one.to_dict() for one in findings],
        }
        click.echo(json.dumps(found, indent=2))
        return complaint
    click.echo(f"Planted: {plan.truth.sentence}. To be said: {plan.truth.verdict}.\n")
    rows = [(one.campaign, one.validity.verdict, one.validity.sentence) for one in findings]
    print_table("What is said", ("campaign", "verdict", "in words"), rows, as_json=False)
    for one in findings[:1]:
        click.echo()
        _show_values(one)
        click.echo(f"\nIts report: {one.report.sentence}")
    return complaint


def _show_values(one: TruthFinding) -> None:
    rows = [
        (row.action, row.decisions, f"{true:.3f}", _interval(row.observed), _interval(row.value))
        for row, true in zip(one.report.actions, one.values, strict=True)
    ]
    columns = ("action", "decisions", "true value", "observed", "value now")
    print_table(f"The actions of {one.campaign}", columns, rows, as_json=False)


def _interval(one: RewardInterval | None) -> str:
    return "not told" if one is None else f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]"
