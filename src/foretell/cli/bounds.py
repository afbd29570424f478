"""`foretell bounds`: what the theorems promise for a problem's sizes."""

from __future__ import annotations

import click

from foretell.cli.output import print_table


@click.command()
@click.option("--horizon", default=8000, show_default=True, help="T, rounds.")
@click.option("--actions", default=4, show_default=True, help="K.")
@click.option("--signals", default=3, show_default=True, help="S.")
@click.option("--switches", default=3, show_default=True, help="Γ, changes of the law.")
@click.option("--delay", default=500, show_default=True, help="D, rounds.")
@click.option("--delta", default=0.1, show_default=True, help="Error probability.")
@click.option("--window", type=int, default=None, help="W; by default the best for each bound.")
@click.option("--largest-gap", default=1.0, show_default=True, help="Largest gap of an action.")
@click.option("--smallest-gap", type=float, default=None, help="Smallest gap, for Theorem 3.")
@click.option("--smallest-probability", type=float, default=None, help="p_min, for Theorem 3.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def bounds(
    horizon: int,
    actions: int,
    signals: int,
    switches: int,
    delay: int,
    delta: float,
    window: int | None,
    largest_gap: float,
    smallest_gap: float | None,
    smallest_probability: float | None,
    as_json: bool,  # noqa: FBT001  click passes it
) -> None:
    """Print the regret bounds of Theorems 1 to 3 and Proposition 1, term by term.

    A bound that exceeds T times the largest gap is marked vacuous: it promises nothing.
    """
    from foretell.theory import (
        Setting,
        lower_bound,
        problem_dependent_bound,
        stationary_bound,
        switching_bound,
        theorem_window,
    )

    rows = []
    for constants in ("literal", "tight"):
        setting = Setting(
            horizon=horizon,
            actions=actions,
            signals=signals,
            switches=switches,
            delay=delay,
            delta=delta,
            constants=constants,
        )
        promised = {
            "Theorem 1" if switches == 0 else "Theorem 2": stationary_bound(setting, window)
            if switches == 0
            else switching_bound(setting, window)
        }
        if smallest_gap is not None and smallest_probability is not None:
            promised["Theorem 3"] = problem_dependent_bound(
                setting, smallest_gap, smallest_probability, window
            )
        rows += [
            (
                f"{name}, {constants}",
                bound.window,
                *(round(value) for value in bound.by_name().values()),
                round(bound.total),
                "vacuous" if bound.vacuous(largest_gap) else "informative",
            )
            for name, bound in promised.items()
        ]
    columns = ("bound", "window", "switching", "law", "theta", "azuma", "delay")
    print_table("Upper bounds on regret", (*columns, "total", "verdict"), rows, as_json=as_json)
    if not as_json:
        below = lower_bound(setting)
        click.echo(
            f"\nA policy that ignores the signals pays at least {below.total:,.0f} in some problem "
            f"(Proposition 1).\nTheorem 2 suggests a window of {theorem_window(setting):,.0f} "
            f"rounds."
        )
