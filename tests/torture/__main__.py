"""The long form: everything here for much longer, with a report.

python -m tests.torture --out out/torture
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import click

from tests.torture import bit_flips, decider_faults, faults, web
from tests.torture.bit_flips import Findings
from tests.torture.crash import CrashLoop
from tests.torture.examine import Totals
from tests.torture.power_cuts import PowerCuts, without_sync

Tell = Callable[[Any], None]
HEAD = (
    "suite",
    "kills, cuts, faults",
    "databases",
    "acknowledged",
    "re-sent",
    "duplicates",
    "records",
    "digests compared",
    "restores",
    "keys in order",
    "lost",
    "doubled",
    "forgotten duplicates",
    "violations",
    "seconds",
)
BROKEN_DECIDERS = {
    "decider-answers-early": ("decider killed", "cut before the commit", "database crashed"),
    "decider-goes-on": ("decider stopped",),
    "decider-no-watermark": ("decider killed",),
    "decider-one-left-out": ("decider killed",),
}
"""Deciders that are broken, and what is done to them."""
BROKEN = ("answer-early", "no-dedup", "replay-twice", "skip-records")


class Suite(NamedTuple):
    """One part of the report."""

    name: str
    totals: Totals
    seconds: float


def suites(
    folder: Path, kills: int, seed: int
) -> dict[str, Callable[[Tell], Coroutine[Any, Any, Totals]]]:
    """Return every suite, each as long as fits the number of kills."""

    def place(name: str) -> Path:
        (folder / name).mkdir()
        return folder / name

    def power(name: str, share: float, durability: str, failing: float) -> Any:
        async def run(tell: Tell) -> Totals:
            cuts = PowerCuts(place(name), seed, durability=durability)
            cuts.failing = failing
            return await cuts.run(int(kills * share), tell)

        return run

    def gate(name: str, durability: str) -> Any:
        return lambda tell: faults.untrusted_syncs(place(name), seed, kills // 4, tell, durability)

    return {
        "crash loop": lambda tell: CrashLoop(place("crash"), seed).run(kills, tell),
        "crash loop, relaxed": lambda tell: CrashLoop(
            place("crash-relaxed"), seed, durability="relaxed"
        ).run(kills // 10, tell),
        "crash loop, foretell serve": lambda tell: web.run(place("web"), seed, kills, tell),
        "power cuts": power("power", 0.5, "full", 0.0),
        "power cuts, relaxed": power("relaxed", 0.25, "relaxed", 0.0),
        "power cuts, failing syncs": power("failing", 0.25, "full", 1.0),
        "a failed sync, then a cut": gate("gate", "full"),
        "a failed sync, then a cut, relaxed": gate("gate-relaxed", "relaxed"),
        "deciders on PostgreSQL": lambda tell: deciders(folder, seed, kills * 1.8, tell),
        "full disk": lambda tell: full(folder, seed, max(1, kills // 200), tell),
        "I/O errors": lambda tell: errors(folder, seed, max(1, kills // 100), tell),
    }


async def deciders(folder: Path, seed: int, seconds: float, tell: Tell) -> Totals:
    """Do everything to deciders and their database, on one database after another, for a while."""
    whole, began, number = Totals(), time.monotonic(), 0
    while time.monotonic() - began < seconds and not whole.violations:
        place = folder / f"deciders-{number}"
        place.mkdir()
        whole.join(await decider_faults.run(place, seed + number, times=10, records=5000))
        number += 1
        tell(whole)
    return whole


async def full(folder: Path, seed: int, times: int, tell: Tell) -> Totals:
    """Fill disks up, simulated and real."""
    whole = Totals()
    for number in range(times):
        for kind, fill in (("full", faults.full_disk), ("really", faults.really_full_disk)):
            place = folder / f"{kind}-{number}"
            place.mkdir()
            whole.join(await fill(place, seed + number))
        tell(whole)
    return whole


async def errors(folder: Path, seed: int, times: int, tell: Tell) -> Totals:
    """Let operations fail, on one database after another."""
    whole = Totals()
    for number in range(times):
        place = folder / f"errors-{number}"
        place.mkdir()
        whole.join(await faults.errors(place, seed + number, rounds=20))
        tell(whole)
    return whole


async def broken(folder: Path, seed: int) -> dict[str, Totals]:
    """Let each broken server be found out."""
    found = {}
    for name in BROKEN:
        place = folder / f"broken-{name}"
        place.mkdir()
        found[f"{name}, crash loop"] = await CrashLoop(place, seed, broken=name).run(60, most=1)
    place = folder / "broken-sync"
    place.mkdir()
    with without_sync():
        found["sync off, power cuts"] = await PowerCuts(place, seed).run(60, most=1)
    for name, only in BROKEN_DECIDERS.items():
        place = folder / f"broken-{name}"
        place.mkdir()
        found[f"{name}, deciders"] = await decider_faults.run(
            place, seed, times=10, records=2000, broken=name, only=only
        )
    return found


def row(suite: Suite) -> tuple[str, ...]:
    """Return the numbers of a suite."""
    totals = suite.totals
    numbers = (
        totals.kills,
        totals.databases,
        totals.acknowledged,
        totals.resent,
        totals.duplicates,
        totals.records,
        totals.digests,
        totals.restores,
        totals.keys_in_order,
        totals.count("lost"),
        totals.count("doubled"),
        totals.forgotten,
        len(totals.violations),
    )
    return (suite.name, *(f"{number:,}" for number in numbers), f"{suite.seconds:.0f}")


def report(done: list[Suite], findings: Findings, caught: dict[str, Totals], seed: int) -> str:
    """Write the report."""
    made_with = (
        f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, "
        f"{platform.system()} {platform.release()}, seed {seed}."
    )
    lines = [
        "# Torture",
        "",
        made_with,
        "",
        "| " + " | ".join(HEAD) + " |",
        "|---|" + "---:|" * (len(HEAD) - 1),
        *("| " + " | ".join(row(suite)) + " |" for suite in done),
        "",
        "Where they were killed, or what was lost:",
        "",
        *(
            f"- {suite.name}: "
            + ", ".join(f"{kind} {count}" for kind, count in suite.totals.by_kind.most_common())
            for suite in done
            if suite.totals.by_kind
        ),
        *(
            f"- {suite.name}, what was done about it: "
            + ", ".join(f"{kind} {count}" for kind, count in suite.totals.dealt.most_common())
            for suite in done
            if suite.totals.dealt
        ),
        "",
        "## Broken servers",
        "",
        "| broken how, found by | after | first sign |",
        "|---|---:|---|",
        *(f"| {name} | {totals.kills} | {_first(totals)} |" for name, totals in caught.items()),
        "",
        "## Flipped bits",
        "",
        f"{findings.flips:,} flips, {len(findings.violations)} violations.",
        "",
        "| what was flipped, and what came of it | flips |",
        "|---|---:|",
        *(f"| {outcome} | {count} |" for outcome, count in sorted(findings.outcomes.items())),
    ]
    wrong = [f"- {suite.name}: {one}" for suite in done for one in suite.totals.violations]
    wrong += [f"- {one}" for one in findings.violations]
    if wrong:
        lines += ["", "## Violations", "", *wrong]
    return "\n".join(lines) + "\n"


def _first(totals: Totals) -> str:
    return totals.violations[0][:100].replace("|", "/") if totals.violations else "NOT FOUND"


def progress(name: str) -> Tell:
    """Return a function that prints now and then how far a suite is."""
    last = [time.monotonic()]

    def tell(so_far: Totals | Findings) -> None:
        if time.monotonic() - last[0] > 15:
            last[0] = time.monotonic()
            number = so_far.flips if isinstance(so_far, Findings) else so_far.kills
            click.echo(f"  {name}: {number:,} so far, {len(so_far.violations)} violations")

    return tell


@contextlib.contextmanager
def kept_if_wrong(out: Path, done: list[Suite]) -> Iterator[Path]:
    """Make a folder for databases and what servers log; it stays if the promise was broken."""
    folder = Path(tempfile.mkdtemp(prefix="databases-", dir=out))
    try:
        yield folder
    finally:
        if any(suite.totals.violations for suite in done):
            click.echo(f"Databases, and what the servers logged, are kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/torture"))
@click.option("--kills", default=1000, help="Kills of the crash loop; the rest goes with it.")
@click.option("--seed", default=1)
@click.option("--only", multiple=True, help="Suites whose name begins so; all without it.")
def main(out: Path, kills: int, seed: int, only: tuple[str, ...]) -> None:
    """Kill, cut, fill, break and flip, and write a report."""
    logging.disable(logging.CRITICAL)
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    done: list[Suite] = []
    with kept_if_wrong(out, done) as folder:
        for name, run in suites(folder, kills, seed).items():
            if name.startswith(only or ("",)):
                began = time.monotonic()
                click.echo(name)
                totals = asyncio.run(run(progress(name)))
                done.append(Suite(name, totals, time.monotonic() - began))
                click.echo(
                    "  " + ", ".join(map(" ".join, zip(row(done[-1])[1:], HEAD[1:], strict=True)))
                )
        findings, caught = Findings(), {}
        if "flipped bits".startswith(only or ("",)):
            click.echo("flipped bits")
            (folder / "flips").mkdir()
            findings = asyncio.run(
                bit_flips.run(
                    folder / "flips",
                    seed,
                    rows=4,
                    anywhere=kills,
                    tell=progress("flipped bits"),
                )
            )
        if "broken servers".startswith(only or ("",)):
            click.echo("broken servers")
            caught = asyncio.run(broken(folder, seed))
    written = report(done, findings, caught, seed)
    (out / "report.md").write_text(written)
    click.echo(f"\n{written}\nThe report is in {out / 'report.md'}")
    missed = [name for name, totals in caught.items() if not totals.violations]
    wrong = sum(len(suite.totals.violations) + suite.totals.forgotten for suite in done)
    wrong += len(findings.violations)
    if wrong or missed:
        raise SystemExit(1)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
