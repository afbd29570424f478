"""Many simulations, one seed after the other, with the rate at which they run.

python -m tests.simulation --seeds 2000

python -m tests.simulation --calls 1 lets every call into the database fail instead.
"""

from __future__ import annotations

import logging
import sys
import time
from contextlib import nullcontext

import click

from tests.simulation.io_errors import PHASES, calls_that_fail
from tests.simulation.plants import PLANTS
from tests.simulation.run import Outcome, simulate


@click.command()
@click.option("--first", default=1, help="The first seed.")
@click.option("--seeds", default=2000, help="How many seeds.")
@click.option("--plant", type=click.Choice(list(PLANTS)), help="A fault to plant on purpose.")
@click.option("--calls", type=click.IntRange(1), help="Let every so many calls fail instead.")
@click.option("--verbose", is_flag=True, help="Print what the service logs, and every outcome.")
def main(first: int, seeds: int, plant: str | None, calls: int | None, verbose: bool) -> None:
    """Simulate, and stop with 1 if anything was wrong."""
    if calls is not None:
        raise SystemExit(_let_calls_fail(calls))
    if verbose:
        logging.getLogger("foretell.service").addHandler(logging.StreamHandler(sys.stdout))
    began, cpu = time.monotonic(), time.process_time()
    done: list[Outcome] = []
    wrong: list[Outcome] = []
    for seed in range(first, first + seeds):
        outcome = simulate(seed, PLANTS[plant] if plant else nullcontext)
        done.append(outcome)
        if outcome.violations:
            wrong.append(outcome)
            click.echo(outcome.sentence())
        if verbose:
            click.echo(str(outcome))
        elif len(done) % 100 == 0:
            click.echo(f"{len(done):,} seeds, {len(wrong)} with violations")
    click.echo(_summary(done, time.monotonic() - began, time.process_time() - cpu))
    click.echo(f"{len(wrong)} seeds with violations")
    raise SystemExit(bool(wrong))


def _let_calls_fail(every: int) -> bool:
    """Let calls into the database fail, one after the other; return whether anything was wrong."""
    wrong = 0
    for phase in PHASES:
        tried, last, cpu = 0, 0, time.process_time()
        for at, made in calls_that_fail(phase, every):
            tried, last = tried + 1, at
            for sentence in made.totals.violations:
                wrong += 1
                click.echo(f"{phase}, call {at}, lasting: {made.lasting}: {sentence}")
        spent = time.process_time() - cpu
        click.echo(f"{phase}: {tried:,} errors, up to call {last:,}; {spent:.0f} s of CPU")
    click.echo(f"{wrong} violations")
    return bool(wrong)


def _summary(done: list[Outcome], seconds: float, cpu: float) -> str:
    def total(name: str) -> int:
        return sum(getattr(one, name) for one in done)

    hours = sum(one.hours for one in done)
    return (
        f"{len(done):,} seeds, {total('starts'):,} starts, {total('requests'):,} requests "
        f"({total('unanswered'):,} without an answer), {total('records'):,} records, "
        f"{total('restores'):,} restores, {total('digests'):,} state hashes compared, "
        f"{total('keys_in_order'):,} keys in order, {hours:.0f} simulated hours; "
        f"{cpu:.0f} s of CPU, {seconds:.0f} s: "
        f"{len(done) / cpu:.2f} seeds/s, {hours / cpu:.2f} simulated hours/s"
    )


if __name__ == "__main__":
    main()
