"""`foretell bounds`: what the theorems promise, and what is possible at all."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

import click

from foretell.cli.output import print_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.theory import InstanceConstant, Setting
    from foretell.worlds import Scenario

Command = TypeVar("Command", bound="Callable[..., object]")
PAPER = {"horizon": 8000, "actions": 4, "signals": 3, "switches": 3, "delay": 500}
_OTHERWISE = "Default: that of the scenario, else {}."


def _size(name: str, words: str) -> Callable[[Command], Command]:
    text = f"{words} {_OTHERWISE.format(PAPER[name])}"
    return click.option(f"--{name}", type=int, default=None, help=text)


@click.command()
@click.option("--scenario", "name", default=None, help="Take law, theta and sizes from it.")
@_size("horizon", "T, rounds.")
@_size("actions", "K.")
@_size("signals", "S.")
@_size("switches", "Γ, changes of the law.")
@_size("delay", "D, rounds.")
@click.option("--delta", default=0.1, show_default=True, help="Error probability.")
@click.option("--window", type=int, default=None, help="W; by default the best for each bound.")
@click.option("--largest-gap", default=1.0, show_default=True, help="Largest gap of an action.")
@click.option("--smallest-gap", type=float, default=None, help="Smallest gap, for Theorem 3.")
@click.option("--smallest-probability", type=float, default=None, help="p_min, for Theorem 3.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every digit of it.")
def bounds(
    name: str | None,
    horizon: int | None,
    actions: int | None,
    signals: int | None,
    switches: int | None,
    delay: int | None,
    delta: float,
    window: int | None,
    largest_gap: float,
    smallest_gap: float | None,
    smallest_probability: float | None,
    as_json: bool,  # noqa: FBT001  click passes it
) -> None:
    """Print what the theorems promise for a problem's sizes, and what no policy can avoid.

    Upper bounds come term by term (Theorems 1 to 3, and the S-free bound of nsd-kl with restarts at
    known changes); one that exceeds T times the largest gap is marked vacuous. Lower bounds are for
    policies that ignore signals (Proposition 1) and for all. With --scenario, the regret per ln T
    that no good policy avoids in the long run, told theta, with signals, and without, and so what
    signals are worth there.
    """
    from foretell.theory import Setting, conjectured_order, theorem_window

    given = {"horizon": horizon, "actions": actions, "signals": signals}
    given |= {"switches": switches, "delay": delay}
    sizes = dict(PAPER)
    found: list[tuple[int, InstanceConstant]] = []
    if name is not None:
        world, rounds, changes = _scenario(name)
        found = _constants(name, world)
        sizes |= {"horizon": rounds, "switches": changes, "delay": _delay(world)}
        sizes |= {"actions": world.actions, "signals": world.signals}
    sizes |= {size: value for size, value in given.items() if value is not None}
    setting = Setting(
        horizon=sizes["horizon"],
        actions=sizes["actions"],
        signals=sizes["signals"],
        switches=sizes["switches"],
        delay=sizes["delay"],
        delta=delta,
    )
    upper = _upper(setting, window, largest_gap, smallest_gap, smallest_probability)
    lower = _lower(setting)
    if as_json:
        answer: dict[str, Any] = {"sizes": sizes, "delta": delta, "largest_gap": largest_gap}
        answer |= {"upper": upper, "lower": lower}
        answer |= {"conjectured_order": conjectured_order(setting)}
        answer |= {"theorem_window": theorem_window(setting)}
        if name is not None:
            answer |= {"scenario": name, "constants": [_as_json(*one) for one in found]}
        click.echo(json.dumps(answer, indent=2))
        return
    if name is not None:
        _print_constants(name, found)
    _print_bounds(setting, upper, lower)


def _scenario(name: str) -> tuple[Scenario, int, int]:
    """Return a named scenario, the rounds it is played for, and its changes."""
    from foretell.worlds import SuiteEntry, scenario, suite

    world = scenario(name)
    entry = {one.name: one for one in suite()}.get(name)
    if entry is None:
        entry = SuiteEntry(name, world, PAPER["horizon"], "", right_model=True, first_rewards=0)
    return world, entry.horizon, entry.changes_count()


def _delay(world: Scenario) -> int:
    """Return the largest mean delay of a signal: the theorems are about a constant one."""
    delays = world.delay if isinstance(world.delay, tuple) else (world.delay,)
    means = [one.mean() for one in delays]
    return round(max([mean for mean in means if math.isfinite(mean)], default=0.0))


def _constants(name: str, world: Scenario) -> list[tuple[int, InstanceConstant]]:
    """Return the constants of each law that the scenario names, with the round it begins at."""
    import numpy as np

    from foretell.errors import InvalidInput
    from foretell.theory import instance_constant
    from foretell.worlds.theta_changes import ConstantTheta

    if not isinstance(world.theta_changes, ConstantTheta):
        raise InvalidInput(
            f"the constants are for a theta that does not change, got {name!r}: "
            f"choose a scenario without theta_changes"
        )
    if world.alpha > 0.0:
        raise InvalidInput(
            f"the constants are for rewards that depend on the signal alone, got {name!r} with "
            f"alpha={world.alpha:g}: choose a scenario with alpha=0"
        )
    scale = world.rewards.scale()
    if scale.kind != "bounded":
        raise InvalidInput(
            f"the constants are for rewards in a range, got {name!r} with {scale.kind} ones: "
            f"choose a scenario with bounded rewards"
        )
    theta = (np.array(world.theta) - scale.low) / (scale.high - scale.low)
    laws = world.segments or ((0, world.law),)
    return [(first, instance_constant(np.array(law), theta)) for first, law in laws]


def _upper(
    setting: Setting,
    window: int | None,
    largest_gap: float,
    smallest_gap: float | None,
    smallest_probability: float | None,
) -> list[dict[str, Any]]:
    """Return a row for every upper bound."""
    from dataclasses import replace

    from foretell.theory import (
        problem_dependent_bound,
        s_free_bound,
        stationary_bound,
        switching_bound,
    )

    promised = {}
    for constants in ("literal", "tight"):
        chosen = replace(setting, constants=constants)
        if setting.switches == 0:
            promised[f"Theorem 1, {constants}"] = stationary_bound(chosen, window)
        else:
            promised[f"Theorem 2, {constants}"] = switching_bound(chosen, window)
        if smallest_gap is not None and smallest_probability is not None:
            promised[f"Theorem 3, {constants}"] = problem_dependent_bound(
                chosen, smallest_gap, smallest_probability, window
            )
    promised["S-free, changes known"] = s_free_bound(setting)
    return [
        {
            "bound": name,
            "window": bound.window,
            **bound.by_name(),
            "total": bound.total,
            "verdict": "vacuous" if bound.vacuous(largest_gap) else "informative",
        }
        for name, bound in promised.items()
    ]


def _lower(setting: Setting) -> list[dict[str, Any]]:
    """Return a row for every lower bound."""
    from foretell.theory import lower_bound, minimax_lower_bound

    rows = {
        ("minimax", "every policy"): minimax_lower_bound(setting),
        ("Proposition 1", "policies that ignore signals"): lower_bound(setting),
    }
    return [
        {
            "bound": name,
            "for": policies,
            "learning": one.learning,
            "delay": one.delay,
            "total": one.total,
            "order": one.order,
        }
        for (name, policies), one in rows.items()
    ]


def _print_bounds(
    setting: Setting, upper: list[dict[str, Any]], lower: list[dict[str, Any]]
) -> None:
    from foretell.theory import conjectured_order, theorem_window

    for title, rows in (
        ("Upper bounds on regret", upper),
        ("Lower bounds on the worst regret", lower),
    ):
        cells = [
            [round(cell) if isinstance(cell, float) else cell for cell in row.values()]
            for row in rows
        ]
        print_table(title, list(rows[0]), cells, as_json=False)
        click.echo()
    click.echo(
        f"The paper conjectures the order {conjectured_order(setting):,.0f}; up to logarithms the "
        f"order {lower[0]['order']:,.0f} is necessary, and with known changes sufficient.\n"
        f"Theorem 2 suggests a window of {theorem_window(setting):,.0f} rounds."
    )


def _as_json(first: int, found: InstanceConstant) -> dict[str, Any]:
    from dataclasses import asdict

    plays = [None if math.isinf(one) else one for one in found.plays]
    return {"from_round": first, **asdict(found), "plays": plays, "ratio": found.ratio}


def _print_constants(name: str, found: list[tuple[int, InstanceConstant]]) -> None:
    rows = [
        (
            first,
            f"{one.known_theta:.4g}",
            f"{one.value:.4g}",
            f"{one.rewards_only:.4g}",
            "–" if one.ratio is None else f"{one.ratio:.4g}",
            ", ".join("best" if math.isinf(plays) else f"{plays:.3g}" for plays in one.plays),
            ", ".join(map(str, one.off)) or "none",
        )
        for first, one in found
    ]
    columns = ["from round", "told theta", "with signals", "rewards only", "ratio"]
    columns += ["plays per ln T", "signals no best action shows"]
    title = f"Regret per ln T in the long run: {name}, each law as if it stayed"
    print_table(title, columns, rows, as_json=False)
    ratios = [one.ratio for _, one in found if one.ratio is not None]
    least, most = (f"{min(ratios):.3g}", f"{max(ratios):.3g}") if ratios else ("", "")
    if not ratios:
        words = "nothing, for every constant is 0"
    elif most == "1":
        words = "nothing, a reward says as much"
    else:
        words = f"{least if least == most else f'{least} to {most}'} times less regret"
    click.echo(f"What signals are worth in the long run: {words}.\n")
