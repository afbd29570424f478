"""The promise, checked: the book against the log, and the server's state against a refit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from foretell.service.log.sqlite.check import check_database
from foretell.service.model.events import Decided, Rewarded, Signalled
from foretell.service.model.timestamps import parse_timestamp
from tests.torture.book import Book
from tests.torture.replay import LogContents, end_refit, found_in, read_only
from tests.torture.traffic import CAMPAIGNS
from tests.torture.verbs import Refused, Service


@dataclass
class Totals:
    """What a run has come to."""

    kills: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    databases: int = 0
    acknowledged: int = 0
    resent: int = 0
    duplicates: int = 0
    records: int = 0
    checks: int = 0
    digests: int = 0
    lost_decisions: int = 0
    """Decisions that a relaxed server may lose, and did."""
    violations: list[str] = field(default_factory=list)

    def add(self, book: Book, records: int) -> None:
        """Take in a database that is done with."""
        self.databases += 1
        self.acknowledged += book.acknowledged()
        self.resent += book.resent
        self.duplicates += book.duplicates.total()
        self.records += records

    def join(self, other: Totals) -> None:
        """Take in another run."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def count(self, word: str) -> int:
        """Count the violations that begin with a word."""
        return sum(one.startswith(word) for one in self.violations)


async def examine(
    path: str, book: Book, service: Service, totals: Totals, *, relaxed: bool = False
) -> LogContents:
    """Check a database whose server is idle, and add up what was found."""
    totals.violations += [f"damaged: {one}" for one in check_database(path).damage]
    reports = await _reports(service)
    units = [
        (item.body["campaign"], item.body["unit"])
        for item in book.items.values()
        if item.verb == "erase"
    ]
    with read_only(path) as log:
        found = found_in(log, units)
        totals.violations += book.check(found, relaxed=relaxed)
        totals.violations += [f"numbers: {one}" for one in found.rounds]
        numbers = {name: number for number, name in found.names.items()}
        for name, report in reports.items():
            as_of = parse_timestamp(report["log"]["as_of"])
            if as_of is None or name not in numbers:
                totals.violations.append(f"lost: campaign {name} is served and not in the log")
                continue
            try:
                digest = end_refit(log, numbers[name], as_of)
            except Exception as error:  # noqa: BLE001  (of a log that a broken server wrote)
                totals.violations.append(f"state: {name} cannot be built again: {error!r}")
                continue
            totals.digests += 1
            if digest != report["log"]["state_hash"]:
                totals.violations.append(f"state: {name} is not what its log folds to")
            totals.violations += _counts(name, report, found, book, relaxed=relaxed)
    totals.checks += 1
    return found


async def _reports(service: Service) -> dict[str, Any]:
    reports = {}
    for name in CAMPAIGNS:
        try:
            reports[name] = await service.call("report", {"campaign": name})
        except Refused as refused:
            if refused.status != 404:
                raise
    return reports


def _counts(
    name: str, report: Any, found: LogContents, book: Book, *, relaxed: bool
) -> Iterator[str]:
    counts = report["counts"]
    if counts["decisions"] != found.kinds[name, Decided]:
        yield f"counts: {name} reports {counts['decisions']} decisions, its log has others"
    for word, kind in (("signals", Signalled), ("rewards", Rewarded)):
        there = found.matched[name, kind]
        if counts[word] != there:
            yield f"counts: {name} reports {counts[word]} {word}, its log has {there}"
        if there != found.kinds[name, kind] and not relaxed:
            yield f"lost: decisions of {name} to which there are {word}"
    if counts["duplicates"] < book.duplicates[name] and not relaxed:
        yield f"counts: {name} has forgotten duplicates that it answered"
