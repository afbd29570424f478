"""The promise, checked: the book against the log, and the server's state against a refit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.torture.book import Book
from tests.torture.changes import CAMPAIGNS
from tests.torture.replay import LogContents, digest_at, found_in, read_only
from tests.torture.verbs import KINDS, Refused, Service

REPORT_TRIES = 30


@dataclass
class Totals:
    """What a run has come to."""

    kills: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    """What was answered, by kind: all of `verbs.KINDS` in a run that is long enough."""
    databases: int = 0
    acknowledged: int = 0
    resent: int = 0
    duplicates: int = 0
    records: int = 0
    restores: int = 0
    keys_in_order: int = 0
    """Keys whose requests and answers some order explains."""
    checks: int = 0
    digests: int = 0
    lost_decisions: int = 0
    """Decisions that a relaxed server may lose, and did."""
    dealt: Counter[str] = field(default_factory=Counter)
    """What deciders have done about faults: sealings, takeovers, retries."""
    forgotten: int = 0
    """Times that the count of duplicates was below those that were answered."""
    violations: list[str] = field(default_factory=list)

    def add(self, book: Book, records: int) -> None:
        """Take in a database that is done with."""
        self.databases += 1
        self.acknowledged += book.acknowledged()
        self.done += book.done
        self.resent += book.resent
        self.duplicates += book.duplicates.total()
        self.records += records
        self.restores += book.restored
        self.keys_in_order += book.keys_in_order + len(book.history.by_key)
        self.violations += book.history.violations()

    def join(self, other: Totals) -> None:
        """Take in another run."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def never(self, *left_out: str) -> list[str]:
        """Return what the load has not once done, but for what is left out."""
        return [kind for kind in KINDS if kind not in left_out and not self.done[kind]]

    def count(self, word: str) -> int:
        """Count the violations that begin with a word."""
        return sum(one.startswith(word) for one in self.violations)


async def examine(
    path: str, book: Book, service: Service, totals: Totals, *, relaxed: bool = False
) -> LogContents:
    """Check a database whose server is idle, and add up what was found."""
    units = [
        (item.body["campaign"], item.body["unit"])
        for item in book.items.values()
        if item.verb == "erase"
    ]
    with read_only(path) as log:
        totals.violations += [f"damaged: {one}" for one in log.check().damage]
        found = await found_in(log, path, units)
        reports = await _reports(service, found.last, totals)
        totals.violations += book.check(found, relaxed=relaxed)
        totals.violations += [f"order: {one}" for one in found.disorder]
        numbers = {name: number for number, name in found.names.items()}
        for name, report in reports.items():
            if name not in numbers:
                totals.violations.append(f"lost: campaign {name} is served and not in the log")
                continue
            try:
                position = int(report["log"]["position"])
                digest = await digest_at(log, numbers[name], position)
            except Exception as error:  # noqa: BLE001  (of a log that a broken server wrote)
                totals.violations.append(f"state: {name} cannot be built again: {error!r}")
                continue
            totals.digests += 1
            if digest != report["log"]["state_hash"]:
                totals.violations.append(f"state: {name} is not what its log folds to")
            totals.violations += _counts(name, report, found, relaxed=relaxed)
            duplicates = report["counts"]["duplicates"]
            totals.forgotten += duplicates < book.duplicates[name] and not relaxed
    totals.checks += 1
    return found


async def _reports(service: Service, last: int, totals: Totals) -> dict[str, Any]:
    """Return the reports, each once the last record is folded: a report waits a second at most."""
    reports: dict[str, Any] = {}
    for name in CAMPAIGNS:
        try:
            for _ in range(REPORT_TRIES):
                reports[name] = await service.call("report", {"campaign": name})
                if int(reports[name]["log"]["position"]) > last:
                    break
        except Refused as refused:
            if refused.status != 404:
                totals.violations.append(
                    f"failed: the report of {name}: {refused.status} {refused}"
                )
    return reports


def _counts(name: str, report: Any, found: LogContents, *, relaxed: bool) -> Iterator[str]:
    counts = report["counts"]
    if counts["decisions"] != found.kinds[name, "decisions"]:
        yield f"counts: {name} reports {counts['decisions']} decisions, its log has others"
    if counts["voided"] != found.voided[name]:
        yield f"counts: {name} reports {counts['voided']} voided, its log has {found.voided[name]}"
    for word in ("signals", "rewards"):
        there = found.matched[name, word]
        if counts[word] != there:
            yield f"counts: {name} reports {counts[word]} {word}, its log has {there}"
        if there != found.kinds[name, word] and not relaxed:
            yield f"lost: decisions of {name} to which there are {word}"
