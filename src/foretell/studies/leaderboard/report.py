"""The report of the leaderboard: an offline page, a heat map, and a table for the docs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from foretell.pages import render
from foretell.studies.leaderboard.heat_map import draw_heat

if TYPE_CHECKING:
    from foretell.studies.leaderboard.board import Leaderboard

COLUMNS = (
    ("held_out", "held out", "geometric mean of the ratios where nothing was tuned"),
    ("tuned_on", "tuned on", "the same over scenarios that the default was tuned on"),
    ("random", "random", "the same over randomly drawn problems, on which nothing was tuned"),
    ("wrong_model", "wrong model", "the same where rewards do not depend on the signal alone"),
    ("late", "after D", "the same over all scenarios, for the regret after the first rewards"),
    ("worst", "worst", "the largest ratio over scenarios"),
    ("to_oracle-psrl", "to oracle-psrl", "geometric mean of the ratios to oracle-psrl"),
    ("rank_held_out", "rank, held out", "mean rank where nothing was tuned, oracles apart"),
    ("rank_tuned_on", "rank, tuned on", "mean rank where the default was tuned, oracles apart"),
)
"""The numbers of a policy over all scenarios, each with its interval."""

PARTS = (
    (False, "held out", "Scenarios on which nothing was tuned"),
    (True, "tuned on", "Scenarios that were looked at while the default was tuned"),
)


def write_leaderboard(board: Leaderboard, folder: str | os.PathLike[str]) -> None:
    """Write the results, the heat map, the page and the table into a folder."""
    target = Path(folder)
    board.save(target)
    draw_heat(board.scores, target)
    (target / "leaderboard.md").write_text(leaderboard_markdown(board), encoding="utf-8")
    (target / "index.html").write_text(
        leaderboard_page(board, (target / "leaderboard-heat.svg").read_text(encoding="utf-8")),
        encoding="utf-8",
    )


def leaderboard_markdown(board: Leaderboard) -> str:
    """Return the tables of `docs/leaderboard.md`."""
    head = ["policy", *(title for _, title, _ in COLUMNS), "first", "µs per round"]
    times = median_times(board)
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for row in board.scores["summary"]:
        shown = [_estimate(row[key]) for key, _, _ in COLUMNS]
        time = _number(times.get(row["policy"]))
        lines.append([f"`{row['policy']}`", *shown, _firsts(row), time])
    parts = [
        f"### {title}\n\n{_table(_scenario_lines(board, tuned_on=tuned_on))}"
        for tuned_on, _, title in PARTS
        if any(one["tuned_on"] == tuned_on for one in board.scores["scenarios"])
    ]
    return "\n".join([how_made(board), "", _table(lines), *parts])


def _scenario_lines(board: Leaderboard, *, tuned_on: bool) -> list[list[str]]:
    """Return a line for every scenario: its yardstick, who is first, and who else might be."""
    lines = [["scenario", "what it tests", "T", "best window", "first", "its ratio", "or"]]
    lines.append(["---", "---", "---:", "---:", "---", "---:", "---"])
    for description in board.scores["scenarios"]:
        if description["tuned_on"] != tuned_on:
            continue
        cells = board.scores["cells"][description["name"]]
        name, ratio = _best(cells)
        lines.append(
            [
                description["name"],
                description["tests"],
                f"{description['horizon']:,}",
                _estimate(description["yardstick"]["regret"]),
                f"`{name}`",
                ratio,
                ", ".join(f"`{one}`" for one in _rivals(cells, name)),
            ]
        )
    return lines


def _rivals(cells: dict[str, dict[str, Any]], best: str) -> list[str]:
    """Return who might be first as well: those whose interval of ranks begins at 1."""
    return [n for n, score in cells.items() if n != best and score.get("rank", [0, 0])[1] == 1]


def _firsts(row: dict[str, Any]) -> str:
    """Return in how many scenarios a policy is first, held out and tuned on."""
    return f"{row['first_held_out']} + {row['first_tuned_on']}"


def how_made(board: Leaderboard) -> str:
    """Say in a paragraph what was run and how long it took."""
    scores, times = board.scores, board.times
    random = (
        f" and {len(scores['random'])} random problems with {scores['random_runs']} runs each"
        if scores["random"]
        else ""
    )
    minutes = times["seconds"] / 60
    return (
        f"{scores['runs']} runs on each of {len(scores['scenarios'])} scenarios{random}, seed "
        f"{scores['seed']}; simulating took {minutes:.0f} minutes, source "
        f"{scores['provenance']['source']}. In brackets: 95 % intervals, a paired "
        f"bootstrap over runs."
    )


def median_times(board: Leaderboard) -> dict[str, float]:
    """Return the time per round of each policy in microseconds, the median over scenarios."""
    gathered: dict[str, list[float]] = {}
    for row in board.times["microseconds"].values():
        for name, time in row.items():
            gathered.setdefault(name, []).append(time)
    return {name: sorted(times)[len(times) // 2] for name, times in gathered.items()}


class NumberCell(NamedTuple):
    """A number in a table that sorts: what it sorts by, None for last, and what is shown."""

    key: float | None
    text: str


def leaderboard_page(board: Leaderboard, heat: str) -> str:
    """Return the page: everything it needs is inside."""
    return render(
        "leaderboard.html",
        made=how_made(board),
        columns=[(title, why) for _, title, why in COLUMNS],
        summary=_summary(board),
        heat=heat[heat.index("<svg") :],
        cells=_cells(board),
    )


def _summary(board: Leaderboard) -> list[dict[str, Any]]:
    times = median_times(board)
    return [
        {
            "policy": row["policy"],
            "needs": ", ".join(row["needs"]) or "nothing",
            "oracle": row["lab_only"],
            "numbers": [
                *(NumberCell(row[key][0], _estimate(row[key])) for key, _, _ in COLUMNS),
                NumberCell(row["first_held_out"] + row["first_tuned_on"], _firsts(row)),
                _number_cell(times.get(row["policy"])),
            ],
        }
        for row in board.scores["summary"]
    ]


def _cells(board: Leaderboard) -> list[dict[str, Any]]:
    rows = []
    for description in board.scores["scenarios"]:
        scenario = description["name"]
        times = board.times["microseconds"].get(scenario, {})
        for name, score in board.scores["cells"][scenario].items():
            numbers = [
                NumberCell(score[part][0], _estimate(score[part]))
                for part in ("regret", "late", "regret_to_window", "late_to_window")
            ]
            numbers += [_number_cell(score[f"regret_to_{oracle}"][0]) for oracle in _oracles(score)]
            rank = score.get("rank", [None] * 3)
            numbers += [NumberCell(rank[0], _estimate(rank)), _number_cell(times.get(name))]
            rows.append(
                {
                    "scenario": scenario,
                    "part": _part(tuned_on=description["tuned_on"]),
                    "policy": name,
                    "spec": score["spec"],
                    "numbers": numbers,
                }
            )
    return rows


def _part(*, tuned_on: bool) -> str:
    return next(word for known, word, _ in PARTS if known == tuned_on)


def _oracles(score: dict[str, Any]) -> list[str]:
    return [name for name in ("oracle-psrl", "oracle-nsd") if f"regret_to_{name}" in score]


def _best(cells: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """Return the policy that ranks first, and its ratio to the best window."""
    name = next(name for name, score in cells.items() if score.get("rank", [0])[0] == 1)
    return name, _estimate(cells[name]["regret_to_window"])


def _table(lines: list[list[str]]) -> str:
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _number(value: float | None) -> str:
    """Return a number with about three digits, or a dash."""
    if value is None:
        return "–"
    if isinstance(value, int) or value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _estimate(triple: list[float | None]) -> str:
    value, low, high = triple
    if value is None:
        return "–"
    return f"{_number(value)} [{_number(low)}, {_number(high)}]"


def _number_cell(value: float | None) -> NumberCell:
    return NumberCell(value, _number(value))
