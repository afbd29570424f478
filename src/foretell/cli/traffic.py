"""`foretell simulate-traffic`: a scenario played against a running server."""

from __future__ import annotations

import asyncio
import json
import sys
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from foretell.cli.output import print_table
from foretell.errors import InvalidInput

if TYPE_CHECKING:
    from foretell.traffic.comparison import Comparison
    from foretell.traffic.run import Traffic


class _Number(click.FloatRange):
    """A number within bounds; "nan" is refused."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


_SHARE = _Number(0.0, 1.0)


@click.command("simulate-traffic")
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="The server.")
@click.option(
    "--key", envvar="FORETELL_ADMIN_KEY", help="A key with the scope admin ($FORETELL_ADMIN_KEY)."
)
@click.option("--scenario", default="paper", show_default=True, help="See foretell scenarios.")
@click.option(
    "--truth",
    type=click.Choice(["valid", "clickbait", "drift", "change", "stopped", "little"]),
    default=None,
    help="Plant a truth in place of a scenario, and see whether the report says it.",
)
@click.option("--policy", default="nsd-adaptive", show_default=True, help="See foretell policies.")
@click.option(
    "--horizon",
    type=click.IntRange(min=1),
    default=4000,
    show_default=True,
    help="Rounds of a run; the scenario's changes and delays are fitted to it.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Paired runs; campaigns, 1 by default, with --truth.",
)
@click.option(
    "--delay", type=click.IntRange(min=0), default=None, help="Rounds until a reward is known."
)
@click.option(
    "--silence",
    type=click.Choice(["unknown", "default"]),
    default="unknown",
    show_default=True,
    help="Report every outcome, or only those that are something.",
)
@click.option("--duplicates", type=_SHARE, default=0.05, show_default=True, help="Sent twice.")
@click.option("--late", type=_SHARE, default=0.02, show_default=True, help="After the window.")
@click.option("--lost", type=_SHARE, default=0.02, show_default=True, help="Never sent.")
@click.option(
    "--rate",
    type=_Number(min=0.0, min_open=True),
    default=None,
    help="Rounds per second of each run; by default as many as the server can.",
)
@click.option(
    "--parallel",
    type=click.IntRange(min=1, max=100),
    default=10,
    show_default=True,
    help="Runs at one time.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def simulate_traffic(
    context: click.Context,
    url: str,
    key: str | None,
    scenario: str,
    truth: str | None,
    policy: str,
    horizon: int,
    runs: int,
    delay: int | None,
    silence: Literal["unknown", "default"],
    duplicates: float,
    late: float,
    lost: float,
    rate: float | None,
    parallel: int,
    seed: int,
    as_json: bool,  # noqa: FBT001  click passes it
) -> None:
    """Play a scenario against a running server, and compare its regret with the lab's.

    Each run has a campaign of its own. Signals and rewards come twice, late, in any order or not
    at all. The exit code is 0 if the 95 % interval of the difference, paired run by run, lies
    within ±10 % of the lab's mean regret, and 1 if not. Start the server on a test database:
    foretell serve --time-scale 1000 --db test.db

    With --truth, campaigns are played of which it is known what their report ought to say, and what
    it says is printed beside it. The exit code is 0 if nine of ten say it.
    """
    if truth is not None:
        _refuse_with_truth(context)
        given = context.get_parameter_source("runs") is not ParameterSource.DEFAULT
        settings = {"runs": runs if given else 1, "seed": seed, "parallel": parallel, "rate": rate}
        _play_truth(truth, policy, settings, url, key, as_json=as_json)
        return
    if runs < 2:
        raise click.UsageError("a comparison needs at least 2 runs, got 1: raise --runs")
    from foretell.traffic.comparison import MIN_RUNS, compare
    from foretell.traffic.faults import Faults
    from foretell.traffic.lab import Lab
    from foretell.traffic.plan import make_plan
    from foretell.traffic.run import Traffic

    plan = make_plan(
        scenario,
        policy,
        horizon,
        delay,
        silence,
        Faults(duplicates, late, lost),
        runs=runs,
        seed=seed,
        parallel=parallel,
        rate=rate,
    )
    traffic, lab = Traffic(plan), Lab(plan)
    try:
        _drive(traffic, url, key)
    except KeyboardInterrupt:
        if len(traffic.runs) >= MIN_RUNS:
            _show(compare(traffic, lab), as_json=as_json)
        raise
    found = compare(traffic, lab)
    _show(found, as_json=as_json)
    _end(found.complaint())


def _end(complaint: str | None) -> None:
    if complaint is not None:
        click.echo(f"Error: {complaint}", err=True)
        sys.exit(1)


def _play_truth(
    truth: str, policy: str, settings: dict[str, Any], url: str, key: str | None, *, as_json: bool
) -> None:
    """Plant a truth in campaigns of their own, and print what is said of it."""
    from foretell.cli.truth import show_truth
    from foretell.traffic.run import Traffic
    from foretell.traffic.truth_plan import make_truth_plan

    plan = make_truth_plan(truth, policy, **settings)
    traffic = Traffic(plan)
    _drive(traffic, url, key)
    _end(show_truth(plan, traffic, as_json=as_json))


def _refuse_with_truth(context: click.Context) -> None:
    """Refuse options that are about a scenario: a planted truth is a world of its own."""
    for name in ("scenario", "horizon", "delay", "silence", "duplicates", "late", "lost"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(
                f"--{name} is about a scenario, and --truth has a world of its own: "
                f"leave one of the two out"
            )


def _drive(traffic: Traffic, url: str, key: str | None) -> None:
    from foretell.progress import progress_bar
    from foretell.traffic.service import HttpService, WrongAnswer

    if not key:
        raise InvalidInput("a running service wants an admin key: give it with --key")
    plan = traffic.plan

    async def drive() -> None:
        async with HttpService(url, key) as service:
            await traffic.drive(service, advance)

    with progress_bar(f"{plan.runs} runs", plan.runs * plan.horizon) as advance:
        try:
            asyncio.run(drive())
        except WrongAnswer as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(1)


def _show(found: Comparison, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    rows = [
        (name, *(f"{part:+.1f}" if name == "difference" else f"{part:.1f}" for part in estimate))
        for name, estimate in (
            ("live", found.live),
            ("lab", found.lab),
            ("difference", found.difference),
        )
    ]
    rows.append(("allowed", "", f"{-found.tolerance:+.1f}", f"{found.tolerance:+.1f}"))
    click.echo(
        f"{found.policy} in the scenario {found.scenario}: "
        f"{found.runs} runs of {found.horizon:,} rounds\n"
    )
    print_table("Regret", ("", "mean", "95 % from", "to"), rows, as_json=False)
    click.echo()
    for sentence in _sentences(found):
        click.echo(sentence)


def _sentences(found: Comparison) -> list[str]:
    sent = ", ".join(f"{count:,} {what}" for what, count in found.sent.items())
    answers = ", ".join(f"{count:,} {what}" for what, count in found.answers.items())
    lines = [
        f"Sent: {sent}.",
        f"The server said: {answers}. Unmeant, {found.tardy:.1%} missed their window.",
        f"{found.seconds:.0f} s, in which its clock went {found.time_scale:,.0f} times as fast.",
    ]
    if found.windows is not None:
        windows = found.windows
        lines.append(
            f"Reward windows had {windows.shortest} to {windows.longest} rounds, "
            f"{windows.median} in the middle: the lab's delay. "
            f"{windows.signals_behind:.1%} of decisions came before the last signal was in."
        )
    return lines
