"""Compiling before the first run, in processes side by side where there are several policies.

What is compiled is kept on disk, so this happens once on a machine for each policy and source.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foretell.errors import MissingExtra
from foretell.policies import Spec, policy, start
from foretell.progress import progress_bar
from foretell.sim.draw_worlds import draw_from, draw_worlds
from foretell.sim.run import new_trace, play_runs, run_all
from foretell.sim.streams import stream_words
from foretell.worlds.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from foretell.sim.compiled import CompiledFunction


SECONDS_EACH = 10
"""About how long one policy is compiled."""


class Program(NamedTuple):
    """What plays the runs of some policies: plain functions, or the same compiled."""

    draw: Callable[..., int]
    play: list[Callable[..., None]]


def plain_program(specs: list[Spec], scenario: Scenario, horizon: int) -> Program:
    """Return the plain functions, refusing policies that do not accept the scenario."""
    for spec in specs:
        start(spec, scenario.problem(horizon))
    return Program(draw_from, [play_runs] * len(specs))


def compiled_program(
    specs: list[Spec], scenario: Scenario, horizon: int, *, shown: bool | None
) -> Program:
    """Return compiled functions; where some are not on disk yet, say so and compile them first."""
    compiled = _compiler()
    draw = compiled.compiled_drawer(scenario.rule(horizon))
    players = [compiled.compiled_player(start(s, scenario.problem(horizon))) for s in specs]
    waiting = [(s, p) for s, p in zip(specs, players, strict=True) if not p.ready]
    if waiting:
        probe = Probe(scenario, horizon, draw)
        missing = [(s, p) for s, p in waiting if not probe.is_on_disk(s, p)]
        _compile(probe, dict(missing), shown=shown)
    return Program(draw, players)


class Probe:
    """Calls players for no run at all: enough to compile them."""

    def __init__(self, scenario: Scenario, horizon: int, draw: Callable[..., int]) -> None:
        """Draw one world, for the types of its arrays."""
        self.scenario, self.horizon = scenario, horizon
        self._words = stream_words(0, np.arange(1))
        self._world = draw_worlds(scenario, horizon, self._words, draw)

    def call(self, spec: Spec, player: Callable[..., object]) -> None:
        """Call the player of a policy for no run."""
        run_all(
            self._world,
            start(spec, self.scenario.problem(self.horizon)),
            self.horizon,
            self._words[:0],
            new_trace(np.zeros(1, np.int64), 0, self.scenario.actions, 0),
            player=player,
        )

    def is_on_disk(self, spec: Spec, player: CompiledFunction) -> bool:
        """Return whether the player is compiled already, by this process or another."""
        found = []
        self.call(spec, lambda *arguments: found.append(player.is_on_disk(*arguments)))
        return found[0]


def _compile(probe: Probe, missing: dict[Spec, CompiledFunction], *, shown: bool | None) -> None:
    """Compile what is missing: ours in processes side by side, if there are several."""
    if not missing:
        return
    ours = [spec for spec in missing if type(spec).__module__.startswith("foretell.")]
    processes = min(cores(), len(ours))
    with progress_bar(
        _announcement(list(missing), processes), len(missing), shown=shown
    ) as advance:
        if processes > 1:
            shares = [ours[number::processes] for number in range(processes)]
            with ThreadPoolExecutor(processes) as pool:
                list(pool.map(lambda share: _in_process(probe, share, advance), shares))
        for spec, player in missing.items():
            if processes <= 1 or spec not in ours:
                probe.call(spec, player)
                advance(1)


def _announcement(missing: list[Spec], processes: int) -> str:
    """Say what is compiled, and about how long that takes.

    >>> _announcement([policy("ucb"), policy("nsd-adaptive")], 1)
    'compiling nsd-adaptive, ucb: about 20 s the first time'
    """
    names = ", ".join(sorted({spec.name for spec in missing}))
    seconds = SECONDS_EACH * -(-len(missing) // max(1, processes))
    return f"compiling {names}: about {seconds} s the first time"


def _in_process(probe: Probe, specs: list[Spec], advance: Callable[[int], None]) -> None:
    """Compile some policies in a process; where that fails, the first run will say why."""
    what = [[str(spec) for spec in specs], probe.scenario.to_dict(), probe.horizon]
    with subprocess.Popen(  # noqa: S603  this Python, our own module
        [sys.executable, "-m", "foretell.sim.prepare", json.dumps(what)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None  # noqa: S101  it is a pipe
        for _ in process.stdout:
            advance(1)


def _compiler() -> ModuleType:
    try:
        from foretell.sim import compiled
    except ImportError as error:
        raise MissingExtra(
            "the compiled simulator needs numba, which is not installed: "
            "pip install 'foretell[lab]', or pass compiled=False"
        ) from error
    return compiled


def cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    _specs, _scenario, _horizon = json.loads(sys.argv[1])
    for _spec in _specs:
        compiled_program([policy(_spec)], Scenario.from_dict(_scenario), _horizon, shown=False)
        sys.stdout.write(f"{_spec}\n")
        sys.stdout.flush()
