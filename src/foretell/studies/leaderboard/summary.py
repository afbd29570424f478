"""One row per policy: its geometric means and mean ranks over scenarios, with their intervals.

Scenarios that were looked at while the default policy was tuned and those that were not are never
averaged together: what was tuned on flatters what was tuned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.policies import entry as entry_of
from foretell.studies.leaderboard.bootstrap import geometric, spread
from foretell.studies.leaderboard.score import geometric_mean, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.studies.leaderboard.contest import Contest

Triple = list["float | None"]

GROUPS: dict[str, Callable[[Contest], bool]] = {
    "held_out": lambda contest: not contest.entry.tuned_on,
    "tuned_on": lambda contest: contest.entry.tuned_on,
    "wrong_model": lambda contest: not contest.entry.right_model,
}
"""The sets of scenarios over which ratios are averaged."""


def summary_rows(main: list[Contest], drawn: list[Contest]) -> list[dict[str, Any]]:
    """Return one row per policy: the least ratio where nothing was tuned first, oracles last."""
    rows = []
    for name, spec in (main or drawn)[0].entrants.items():
        known = entry_of(spec)
        row: dict[str, Any] = {
            "policy": name,
            "needs": list(known.needs),
            "lab_only": known.lab_only,
            "random": _mean_ratio(drawn, name, "regret_to_window"),
            "late": _mean_ratio(main, name, "late_to_window"),
            "to_oracle-psrl": _mean_ratio(main, name, "regret_to_oracle-psrl"),
            "random_beats_window": _share_below_one(drawn, name),
        }
        for group, belongs in GROUPS.items():
            chosen = [contest for contest in main if belongs(contest)]
            row[group] = _mean_ratio(chosen, name, "regret_to_window")
            row[f"rank_{group}"] = _mean_rank(chosen, name)
            row[f"first_{group}"] = sum(_rank(contest, name) == 1 for contest in chosen)
        rows.append(row | _worst(main, name))
    return sorted(rows, key=lambda row: (row["lab_only"], _order(row)))


def _order(row: dict[str, Any]) -> float:
    for group in ("held_out", "tuned_on", "random"):
        if row[group][0] is not None:
            return float(row[group][0])
    return 0.0


def _mean_ratio(contests: list[Contest], name: str, kind: str) -> Triple:
    """Return the geometric mean of a ratio over scenarios."""
    there = [one for one in contests if kind in one.scored.draws]
    value = geometric_mean(contest.scored.scores[name][kind][0] for contest in there)
    draws = geometric(contest.scored.draws[kind][name] for contest in there)
    return [None] * 3 if value is None or draws is None else plain(spread(value, draws))


def _mean_rank(contests: list[Contest], name: str) -> Triple:
    ranks = [_rank(contest, name) for contest in contests]
    there = [rank for rank in ranks if rank is not None]
    if not there:
        return [None] * 3
    draws = np.mean([contest.scored.draws["rank"][name] for contest in contests], axis=0)
    return plain(spread(sum(there) / len(there), draws))


def _rank(contest: Contest, name: str) -> int | None:
    rank = contest.scored.scores[name].get("rank")
    return None if rank is None else int(rank[0])


def _worst(contests: list[Contest], name: str) -> dict[str, Any]:
    found = {one.entry.name: one.scored.scores[name]["regret_to_window"] for one in contests}
    worst = max(found, key=lambda scenario: found[scenario][0] or 0.0, default=None)
    return {
        "worst": [None] * 3 if worst is None else found[worst],
        "worst_scenario": worst,
    }


def _share_below_one(contests: list[Contest], name: str) -> float | None:
    ratios = [contest.scored.scores[name]["regret_to_window"][0] for contest in contests]
    there = [one for one in ratios if one is not None]
    return round(sum(one < 1.0 for one in there) / len(there), 3) if there else None
