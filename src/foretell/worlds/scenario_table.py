"""A scenario as a table, for notebooks."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from foretell.html_table import html_table

if TYPE_CHECKING:
    from foretell.worlds.scenario import Scenario

_IN_THE_TABLE = ("law", "theta", "segments")


def scenario_html(scenario: Scenario) -> str:
    """Return theta and the law of round 0, and below what else is not as it is by default."""
    signals = [f"signal {signal}" for signal in range(scenario.signals)]
    rows: list[list[object]] = [["theta", *scenario.theta]]
    rows += [
        [f"action {action}", *map(float, row)] for action, row in enumerate(scenario.first_law)
    ]
    table = html_table("Scenario: the law of round 0", ["", *signals], rows)
    others = [
        [field.name, str(getattr(scenario, field.name))]
        for field in dataclasses.fields(scenario)
        if field.name not in _IN_THE_TABLE and getattr(scenario, field.name) != field.default
    ]
    if scenario.segments:
        rounds = [first for first, _ in scenario.segments[1:]]
        others.insert(0, ["laws change at rounds", str(rounds)])
    return table + (html_table("", [], others) if others else "")
