"""The paper's world to explore: delay, number of changes and window, each policy in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.policies import policy
from foretell.sim.legend import style
from foretell.studies.explorer import Explorer, Row, Slider
from foretell.studies.plan import Panel, StudyPlan
from foretell.worlds import Scenario, scenario, shifts
from foretell.worlds.paper import HORIZON

if TYPE_CHECKING:
    from foretell.sim import Batch
    from foretell.studies.claim import Results

DELAY = Slider("delay", (0, 100, 500, 1000), 500)
CHANGES = Slider("changes", (0, 1, 3, 7), 3)
WINDOW = Slider("window", (200, 400, 800, 1600, 3200), 800)
WINDOWED = ("nsd-ucrl2", "nsd-psrl", "sw-ucb")
OTHERS = ("nsd-adaptive", "ucb", "oracle-psrl", "oracle-nsd", "oracle-ucb", "uniform")
ORDER = ("nsd-adaptive", "nsd-psrl", "nsd-ucrl2", "sw-ucb", "ucb", "uniform", *OTHERS[2:5])
RUNS = 10


def _panel_name(delay: int, changes: int) -> str:
    return f"{changes} changes, D = {delay}"


def _world(delay: int, changes: int) -> Scenario:
    if changes == 0:
        return scenario("paper-stationary", delay=delay)
    length = HORIZON // (changes + 1)
    at = [length * number for number in range(1, changes + 1)]
    return scenario("paper", delay=delay, changes=shifts(at=at))


def _explorer(results: Results) -> Explorer:
    def row(name: str) -> Row:
        windowed = name in WINDOWED

        def batch(place: dict[str, int]) -> Batch:
            text = f"{name}(window={place[WINDOW.name]})" if windowed else name
            return results[_panel_name(place[DELAY.name], place[CHANGES.name])][text]

        follows = (DELAY.name, CHANGES.name, *([WINDOW.name] if windowed else []))
        return Row(name, style(name), follows, batch)

    return Explorer(
        "explore",
        "Try it: the delay, the number of changes, the window",
        f"Final regret after {HORIZON} rounds of the paper's world, with 95 % intervals over "
        f"{RUNS} runs. The window is that of nsd-ucrl2, nsd-psrl and sw-ucb; nsd-adaptive, which "
        "is ours, needs none. Oracles are told the changes.",
        (DELAY, CHANGES, WINDOW),
        tuple(row(name) for name in ORDER),
    )


STUDY = StudyPlan(
    "explore",
    "Every policy in many worlds",
    "The paper's world with other delays and other numbers of changes, and policies with other "
    "windows than those of its figures.",
    tuple(
        Panel(
            _panel_name(delay, changes),
            _world(delay, changes),
            (
                *(
                    policy(f"{name}(window={window})")
                    for name in WINDOWED
                    for window in WINDOW.values
                ),
                *map(policy, OTHERS),
            ),
            HORIZON,
            RUNS,
            (HORIZON - 1,),
        )
        for delay in DELAY.values
        for changes in CHANGES.values
    ),
    lambda _: [],
    explorer=_explorer,
)
