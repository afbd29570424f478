"""The leaderboard as a heat map: policies by scenarios, orange is worse, purple better.

The colours run from purple over white to orange, which the colour-blind can tell apart, and every
field has its number.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

_LOOK: dict[Any, Any] = {
    "font.size": 7,
    "svg.fonttype": "none",
    "svg.hashsalt": "foretell",
    "figure.constrained_layout.use": True,
}
_MOST = math.log2(8.0)


def draw_heat(scores: dict[str, Any], folder: Path) -> None:
    """Write `leaderboard-heat.svg` and `.png`: regret by that of the best window in hindsight."""
    policies = [row["policy"] for row in scores["summary"]]
    described = sorted(scores["scenarios"], key=lambda one: one["tuned_on"])
    scenarios = [description["name"] for description in described]
    held_out = sum(not description["tuned_on"] for description in described)
    ratios = [
        [scores["cells"][scenario][policy]["regret_to_window"][0] for scenario in scenarios]
        for policy in policies
    ]
    with mpl.rc_context(_LOOK):
        size = (2.4 + 0.36 * len(scenarios), 1.9 + 0.2 * len(policies))
        figure = Figure(figsize=size)
        axes = figure.subplots()
        image = axes.imshow(
            [[_colour(ratio) for ratio in row] for row in ratios],
            cmap="PuOr_r",
            vmin=-_MOST,
            vmax=_MOST,
            aspect="auto",
        )
        axes.set_xticks(range(len(scenarios)), scenarios, rotation=60, ha="right")
        axes.set_yticks(range(len(policies)), policies)
        axes.tick_params(length=0)
        figure.suptitle("Regret by that of the best fixed window in hindsight")
        _mark_parts(axes, held_out, len(scenarios))
        for y, row in enumerate(ratios):
            for x, ratio in enumerate(row):
                dark = abs(_colour(ratio)) > 0.7 * _MOST
                colour = "white" if dark else "black"
                axes.text(x, y, _short(ratio), ha="center", va="center", color=colour, fontsize=5.5)
        steps = range(-3, 4)
        bar = figure.colorbar(image, ax=axes, shrink=0.6, ticks=list(steps))
        bar.ax.set_yticklabels([f"{2.0**step:g}" for step in steps])
        figure.savefig(folder / "leaderboard-heat.svg", metadata={"Date": None})
        figure.savefig(folder / "leaderboard-heat.png", dpi=160)


def _mark_parts(axes: Any, held_out: int, scenarios: int) -> None:
    """Draw a line between the scenarios that were tuned on and the others, and name both."""
    for first, end, words in ((0, held_out, "held out"), (held_out, scenarios, "tuned on")):
        if first < end:
            axes.text((first + end - 1) / 2, -0.8, words, ha="center", va="bottom", fontsize=8)
    if 0 < held_out < scenarios:
        axes.axvline(held_out - 0.5, color="black", linewidth=2.5)


def _colour(ratio: float | None) -> float:
    """Return the base-2 logarithm of a ratio, within the scale of the colours."""
    if ratio is None:
        return _MOST
    return max(-_MOST, min(_MOST, math.log2(max(ratio, 1e-9))))


def _short(ratio: float | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"
