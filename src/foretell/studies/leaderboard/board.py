"""Every policy on every scenario of the suite: `leaderboard`.

Finished cells are kept, so that an interrupted leaderboard goes on where it stopped. What comes out
is plain data that depends on the seed alone, and, apart from it, how long everything took.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.errors import InvalidInput
from foretell.html_table import html_table
from foretell.progress import progress_bar
from foretell.sim.own_sources import own_digests
from foretell.sim.provenance import provenance
from foretell.studies.cells import CellStore
from foretell.studies.guests import guest_entries, guest_policies
from foretell.studies.leaderboard.contest import Contest
from foretell.studies.leaderboard.score import LEAST_RUNS, window_ratios
from foretell.studies.leaderboard.summary import summary_rows
from foretell.studies.runner import run_cells, sweep_cells
from foretell.worlds import random_entries, suite

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from foretell.policies import Spec
    from foretell.studies.cells import Cell
    from foretell.worlds import SuiteEntry

RUNS, QUICK_RUNS = 100, 20
MOST_RANDOM_RUNS = 20
"""Random problems are many, so each of them needs few runs."""

FORMAT = "foretell-leaderboard-2"


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The scores, and apart from them the times, which no seed determines."""

    scores: dict[str, Any]
    times: dict[str, Any]

    def _repr_html_(self) -> str:
        columns = ["policy", "held out", "tuned on", "worst", "in"]
        rows = []
        for row in self.scores["summary"]:
            ratios = [_ratio(row[kind]) for kind in ("held_out", "tuned_on", "worst")]
            rows.append([row["policy"], *ratios, row["worst_scenario"] or "–"])
        return html_table("Regret by that of the best fixed window in hindsight", columns, rows)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `leaderboard.json` and `leaderboard-times.json`."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, content in (("leaderboard", self.scores), ("leaderboard-times", self.times)):
            Path(folder, f"{name}.json").write_text(_text(content), encoding="utf-8")


def _ratio(estimate: list[float | None]) -> float | str:
    return "–" if estimate[0] is None else estimate[0]


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


def leaderboard(
    *,
    quick: bool = False,
    random: int = 0,
    runs: int | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    entries: Sequence[SuiteEntry] | None = None,
    policies: Sequence[str | Spec] = (),
    scenarios: Sequence[str | SuiteEntry] = (),
    only: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    cluster: str | None = None,
    threads: int | None = None,
    fresh: bool = False,
    progress: bool | None = None,
) -> Leaderboard:
    """Compare every policy on the suite and on `random` drawn problems.

    `runs` is 100, or 20 with `quick`; a random problem has 20 at most. `policies` take part
    besides foretell's own, and named `scenarios` (your own, too) besides the suite's; `only` names
    those of foretell's policies that do (the oracles and the fixed-window policies run in any
    case, as yardsticks), `entries` takes the place of the suite. Finished cells are kept in
    `cache` (by default the user's) and not run again unless `fresh`. `cluster` is the address of
    a Dask scheduler, or "local:N" for N processes here. With `out` the report is written there.
    """
    runs = runs if runs is not None else QUICK_RUNS if quick else RUNS
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < LEAST_RUNS:
        raise InvalidInput(f"a leaderboard needs at least {LEAST_RUNS} runs, got {runs!r}")
    guests = {str(spec): spec for spec in guest_policies(policies)}
    chosen = [*(suite() if entries is None else entries), *guest_entries(scenarios)]
    few = min(runs, MOST_RANDOM_RUNS)
    main = [
        Contest(entry, runs, seed, guests, only)
        for entry in {entry.name: entry for entry in chosen}.values()
    ]
    drawn = [Contest(entry, few, seed, guests, only) for entry in random_entries(random, seed)]
    contests = [*main, *drawn]
    cells = [cell for contest in contests for cell in contest.cells]
    total = sum(cell.work for cell in cells)
    store = CellStore(None if cache is None else Path(cache))
    begun = time.perf_counter()
    if cluster is not None:
        sweep_cells(cells, store, cluster, fresh=fresh, progress=progress)
        fresh = False
    with progress_bar(f"leaderboard, {len(cells)} cells", total, shown=progress) as advance:
        for contest in contests:
            finished = run_cells(
                contest.cells, store, threads=threads, fresh=fresh, warm=True, advance=advance
            )
            contest.score(finished)
    scores = {
        "format": FORMAT,
        "runs": runs,
        "seed": seed,
        "random_runs": few if random else 0,
        "provenance": provenance() | _own_files(cells),
        "scenarios": [contest.description() for contest in main],
        "cells": {contest.entry.name: contest.scored.scores for contest in main},
        "random": [
            {**contest.description(), "to_window": window_ratios(contest.scored.scores)}
            for contest in drawn
        ],
        "summary": summary_rows(main, drawn),
    }
    times = {
        "seconds": round(sum(contest.seconds() for contest in contests), 1),
        "seconds_this_time": round(time.perf_counter() - begun, 1),
        "microseconds": {contest.entry.name: contest.microseconds() for contest in main},
    }
    board = Leaderboard(scores, times)
    if out is not None:
        from foretell.studies.leaderboard.report import write_leaderboard

        write_leaderboard(board, out)
    return board


def _own_files(cells: list[Cell]) -> dict[str, str]:
    """Return the digests of the files of policies that are not foretell's."""
    digests: dict[str, str] = {}
    for cell in {type(cell.spec): cell for cell in cells}.values():
        digests |= own_digests(cell.spec, cell.scenario, cell.horizon) or {}
    return digests


def _text(content: dict[str, Any]) -> str:
    """Return JSON with one cell per line, so that a change of one is a change of one line."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
    return _joined(text) + "\n"


def _joined(text: str) -> str:
    """Put lists and the innermost objects on one line each."""
    text = re.sub(r"\[[^\[\]{}]*\]", lambda m: " ".join(m.group().split()), text)
    return re.sub(r"\{[^{}]*\}", lambda m: " ".join(m.group().split()), text)
