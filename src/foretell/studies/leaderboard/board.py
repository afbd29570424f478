"""Every policy on every scenario of the suite: `run_leaderboard`.

Finished cells are kept (`leaderboard_cells`), so that an interrupted leaderboard goes on where it
stopped. What comes out is plain data that depends on the seed alone, and, apart from it, how long
everything took.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.errors import InvalidInput
from foretell.policies import entry as entry_of
from foretell.policies import policy
from foretell.progress import progress_bar
from foretell.sim.provenance import provenance
from foretell.studies.leaderboard.cells import Bench, Cell
from foretell.studies.leaderboard.entrants import entrants, window_family
from foretell.studies.leaderboard.score import LEAST_RUNS, geometric_mean, scored
from foretell.worlds import random_entries, suite

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from foretell.policies import Spec
    from foretell.worlds import SuiteEntry

RUNS, QUICK_RUNS = 100, 20
MOST_RANDOM_RUNS = 20
"""Random problems are many, so each of them needs few runs."""

FORMAT = "foretell-leaderboard-1"


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The scores, and apart from them the times, which no seed determines."""

    scores: dict[str, Any]
    times: dict[str, Any]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `leaderboard.json` and `leaderboard-times.json`."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, content in (("leaderboard", self.scores), ("leaderboard-times", self.times)):
            Path(folder, f"{name}.json").write_text(_text(content), encoding="utf-8")


def load_leaderboard(folder: str | os.PathLike[str]) -> Leaderboard:
    """Read what `Leaderboard.save` wrote."""
    read = []
    for name in ("leaderboard", "leaderboard-times"):
        path = Path(folder, f"{name}.json")
        if not path.is_file():
            raise InvalidInput(f"there is no {path}: make it with foretell leaderboard")
        read.append(json.loads(path.read_text(encoding="utf-8")))
    if read[0].get("format") != FORMAT:
        raise InvalidInput(f"{folder} holds a leaderboard of another version: make it again")
    return Leaderboard(*read)


def run_leaderboard(
    *,
    quick: bool = False,
    random: int = 0,
    runs: int | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    entries: Sequence[SuiteEntry] | None = None,
    policies: Sequence[str | Spec] = (),
    only: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    fresh: bool = False,
    progress: bool | None = None,
) -> Leaderboard:
    """Compare every policy on the suite and on `random` drawn problems.

    `runs` is 100, or 20 with `quick`; a random problem has 20 at most. `policies` take part
    besides foretell's own; `only` names those of foretell's that do (the oracles and the
    fixed-window policies run in any case, as yardsticks). Finished cells are kept in `cache` (by
    default the user's) and not run again unless `fresh`. With `out` the report is written there.
    """
    runs = runs if runs is not None else QUICK_RUNS if quick else RUNS
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < LEAST_RUNS:
        raise InvalidInput(f"a leaderboard needs at least {LEAST_RUNS} runs, got {runs!r}")
    guests = {str(spec): spec for spec in map(policy, policies)}
    folder = Path(cache) if cache is not None else None
    bench = Bench(runs, seed, folder, threads, fresh)
    few = Bench(min(runs, MOST_RANDOM_RUNS), seed, folder, threads, fresh)
    main = [
        _Match(entry, bench, guests, only) for entry in (suite() if entries is None else entries)
    ]
    drawn = [_Match(entry, few, guests, only) for entry in random_entries(random, seed)]
    total = sum(len(match.specs) for match in (*main, *drawn))
    begun = time.perf_counter()
    with progress_bar(f"leaderboard, {total} cells", total, shown=progress) as advance:
        for match in (*main, *drawn):
            match.run(advance)
    scores = {
        "format": FORMAT,
        "runs": runs,
        "seed": seed,
        "random_runs": few.runs if random else 0,
        "provenance": provenance(),
        "scenarios": [match.facts() for match in main],
        "cells": {match.entry.name: match.scores for match in main},
        "random": [{**match.facts(), "to_window": _ratios(match.scores)} for match in drawn],
        "summary": _summary(main, drawn),
    }
    times = {
        "seconds": round(sum(m.seconds() for m in (*main, *drawn)), 1),
        "seconds_this_time": round(time.perf_counter() - begun, 1),
        "microseconds": {match.entry.name: match.microseconds() for match in main},
    }
    board = Leaderboard(scores, times)
    if out is not None:
        from foretell.studies.leaderboard.report import write_report

        write_report(board, out)
    return board


class _Match:
    """One scenario: who takes part, and what came of it."""

    def __init__(
        self,
        entry: SuiteEntry,
        bench: Bench,
        guests: dict[str, Spec],
        only: Sequence[str] | None,
    ) -> None:
        self.entry = entry
        self.bench = bench
        kept = [*(only or ()), "oracle-psrl", "oracle-nsd"]
        own = {n: spec for n, spec in entrants(entry).items() if only is None or n in kept}
        self.entrants = own | guests
        self.family = window_family(entry)
        self.specs = list(dict.fromkeys([*self.entrants.values(), *self.family.values()]))
        self.yardsticks: dict[str, Any] = {}
        self.scores: dict[str, dict[str, Any]] = {}
        self._cells: dict[Spec, Cell] = {}

    def run(self, advance: Callable[[int], None]) -> None:
        """Run or read every cell, then score them."""
        for spec in self.specs:
            self._cells[spec] = self.bench.cell(self.entry, spec)
            advance(1)
        ranked = [n for n, spec in self.entrants.items() if not entry_of(spec).lab_only]
        self.yardsticks, self.scores = scored(
            {name: self._cells[spec] for name, spec in self.entrants.items()},
            {name: self._cells[spec] for name, spec in self.family.items()},
            ranked,
        )

    def facts(self) -> dict[str, Any]:
        """Say what the scenario is and what its yardstick reached."""
        entry = self.entry
        return {
            "name": entry.name,
            "tests": entry.tests,
            "horizon": entry.horizon,
            "actions": entry.scenario.actions,
            "signals": entry.scenario.signals,
            "changes": entry.changes_count(),
            "first_rewards": entry.first_rewards,
            "right_model": entry.right_model,
            "yardstick": self.yardsticks,
        }

    def microseconds(self) -> dict[str, float]:
        """Give the time per round of every policy, over all threads."""
        return {
            name: round(1e6 * cell.seconds / cell.rounds, 3)
            for name, cell in ((n, self._cells[spec]) for n, spec in self.entrants.items())
        }

    def seconds(self) -> float:
        """Give how long all cells took when they were run."""
        return sum(cell.seconds for cell in self._cells.values())


def _ratios(scores: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    return {name: score["regret_to_window"][0] for name, score in scores.items()}


def _summary(main: list[_Match], drawn: list[_Match]) -> list[dict[str, Any]]:
    """Give one row per policy, the best all-rounder first, oracles last."""
    rows = []
    for name, spec in (main or drawn)[0].entrants.items():
        by_scenario = {match.entry.name: match.scores[name] for match in main}
        ratios = {n: score["regret_to_window"][0] for n, score in by_scenario.items()}
        right = [match.entry.name for match in main if match.entry.right_model]
        wrong = [match.entry.name for match in main if not match.entry.right_model]
        ranks = [score["rank"] for score in by_scenario.values() if "rank" in score]
        at_random = [match.scores[name]["regret_to_window"][0] for match in drawn]
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


def _text(content: dict[str, Any]) -> str:
    """Give JSON with one cell per line, so that a change of one is a change of one line."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
    return _joined(text) + "\n"


def _joined(text: str) -> str:
    """Put lists and the innermost objects on one line each."""
    text = re.sub(r"\[[^\[\]{}]*\]", lambda m: " ".join(m.group().split()), text)
    return re.sub(r"\{[^{}]*\}", lambda m: " ".join(m.group().split()), text)
