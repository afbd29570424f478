"""One row per policy over all scenarios: the table that opens the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretell.policies import entry as entry_of
from foretell.studies.leaderboard.score import geometric_mean

if TYPE_CHECKING:
    from foretell.studies.leaderboard.contest import Contest


def window_ratios(scores: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    """Return the ratio of each score to the best window in hindsight."""
    return {name: score["regret_to_window"][0] for name, score in scores.items()}


def summary_rows(main: list[Contest], drawn: list[Contest]) -> list[dict[str, Any]]:
    """Return one row per policy, the best all-rounder first, oracles last."""
    rows = []
    for name, spec in (main or drawn)[0].entrants.items():
        by_scenario = {contest.entry.name: contest.scores[name] for contest in main}
        ratios = window_ratios(by_scenario)
        right = [contest.entry.name for contest in main if contest.entry.right_model]
        wrong = [contest.entry.name for contest in main if not contest.entry.right_model]
        ranks = [score["rank"] for score in by_scenario.values() if "rank" in score]
        at_random = [contest.scores[name]["regret_to_window"][0] for contest in drawn]
        known = entry_of(spec)
        worst = max(ratios, key=lambda n: ratios[n] or 0.0) if ratios else None
        rows.append(
            {
                "policy": name,
                "needs": list(known.needs),
                "lab_only": known.lab_only,
                "ratio": geometric_mean(ratios.values()),
                "ratio_right_model": geometric_mean(ratios[n] for n in right),
                "ratio_wrong_model": geometric_mean(ratios[n] for n in wrong),
                "late_ratio": geometric_mean(
                    score["late_to_window"][0] for score in by_scenario.values()
                ),
                "to_oracle-psrl": _mean_of(by_scenario, "regret_to_oracle-psrl"),
                "to_oracle-nsd": _mean_of(by_scenario, "regret_to_oracle-nsd"),
                "random": geometric_mean(at_random),
                "random_beats_window": _share_below_one(at_random),
                "worst": ratios[worst] if worst else None,
                "worst_scenario": worst,
                "mean_rank": round(sum(ranks) / len(ranks), 2) if ranks else None,
                "wins": sum(rank == 1 for rank in ranks),
            }
        )
    return sorted(rows, key=lambda row: (row["lab_only"], row["ratio"] or row["random"] or 0.0))


def _mean_of(scores: dict[str, dict[str, Any]], part: str) -> float | None:
    return geometric_mean(score[part][0] for score in scores.values() if part in score)


def _share_below_one(ratios: list[float | None]) -> float | None:
    there = [one for one in ratios if one is not None]
    return round(sum(one < 1.0 for one in there) / len(there), 3) if there else None
