"""`foretell feedback`: signals and rewards from a file, such as a warehouse writes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from foretell.cli.target import service_errors, service_url
from foretell.errors import ForetellError, InvalidInput
from foretell.progress import progress_bar
from foretell.protocol.fields import MAX_BATCH_EVENTS

if TYPE_CHECKING:
    from foretell.cli.feedback_progress import FeedbackProgress
    from foretell.cli.feedback_rows import RowEvent, RowReader
    from foretell.cli.table_file import TableFile
    from foretell.protocol import Receipt

_EXAMPLE = 'write one event a line, as in {"decision_id": "AXk3…", "value": 1.0}'
_SHOWN = 3
"""Events, and rows that cannot be sent, that a dry run prints."""
_STATUSES = ("accepted", "late", "parked", "duplicate", "rejected")


@click.command()
@click.argument("file", type=click.Path())
@click.option("--decision-id", metavar="COLUMN", help="The column of the decision's id.")
@click.option("--event-id", metavar="COLUMN", help="The column of the event's own id.")
@click.option("--signal", metavar="COLUMN", help="The column of the signal's name.")
@click.option("--value", metavar="COLUMN", help="The column of the reward.")
@click.option("--kind", metavar="COLUMN", help="The column of reward, adjust, retract or void.")
@click.option("--target", metavar="COLUMN", help="The column of the event that is corrected.")
@click.option("--occurred-at", metavar="COLUMN", help="The column of the time, RFC 3339.")
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), help="At most so many events a second."
)
@click.option(
    "--rejected", metavar="FILE", help="Where rejected rows go.  [default: FILE.rejected.ndjson]"
)
@click.option(
    "--retry-seconds",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    help="How long a service may be away.",
)
@click.option("--restart", is_flag=True, help="Begin with the first row again.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
@click.option("--url", help="The address of a running service.  [FORETELL_URL]")
@click.option(
    "--key",
    envvar=["FORETELL_KEY", "FORETELL_ADMIN_KEY"],
    help="A key of it with the scope feedback.  [FORETELL_KEY]",
)
def feedback(
    file: str,
    rate: float | None,
    rejected: str | None,
    retry_seconds: float,
    restart: bool,  # noqa: FBT001  click passes it
    dry_run: bool,  # noqa: FBT001
    url: str | None,
    key: str | None,
    **columns: str | None,
) -> None:
    """Send the signals and rewards in FILE to a service.

    FILE is CSV, JSON lines or Parquet with a row for each event: the decision_id, and a signal or a
    value. Columns with other names are guessed, and that is printed; flags name them. The same
    command goes on where it was broken off, and nothing counts twice. Rows that are rejected go to
    a file of their own, with the reason; then the exit code is 1.
    """
    from foretell.cli.feedback_columns import find_columns
    from foretell.cli.feedback_progress import FeedbackProgress
    from foretell.cli.feedback_rows import RowReader
    from foretell.cli.table_file import TableFile
    from foretell.client.batches import BatchSender

    table = TableFile.of(file, _EXAMPLE)
    found = find_columns(table, columns)
    click.echo(f"Reading {file!r} as {table.kind}:", err=True)
    for sentence in found.explained(table):
        click.echo(f"  {sentence}", err=True)
    reader = RowReader(table, found)
    if dry_run:
        _show(table, reader)
        return
    address = service_url(url)
    if not key:
        raise InvalidInput("a service wants a key with the scope feedback: give it with --key")
    with (
        FeedbackProgress(file, {"url": address, "columns": found.of}, rejected) as progress,
        closing(BatchSender(address, key, retry_seconds, _say_trouble)) as sender,
        service_errors(address),
    ):
        _say_position(table, progress, restart=restart)
        _send_all(table, reader, progress, sender.send, rate)
        progress.finished()
    counts = progress.position.counts
    click.echo(_said(counts))
    if counts.get("rejected"):
        click.echo(f"The rejected rows are in {str(progress.rejected)!r}, with the reasons.")
        sys.exit(1)


class _Batch(NamedTuple):
    """The events of some rows that follow each other, and the rows that have none."""

    events: list[RowEvent]
    unusable: list[tuple[int, str, dict[str, Any]]]
    """Their numbers, why they cannot be sent, and what they say."""
    last: int
    """The number of the last row."""

    def is_full(self, size: int) -> bool:
        """Return whether there may be no room for one row more, which may be two events."""
        return len(self.events) + len(self.unusable) + 2 > size


def _batches(table: TableFile, reader: RowReader, after: int, size: int) -> Iterator[_Batch]:
    """Cut the rows after one into batches, each row whole."""
    batch = _Batch([], [], after)
    for row in table.rows():
        if row.number <= after:
            continue
        if batch.is_full(size) and batch.last > after:
            yield batch
            after = batch.last
            batch = _Batch([], [], after)
        try:
            batch.events.extend(reader.events(row))
        except InvalidInput as error:
            batch.unusable.append((row.number, str(error), row.fields))
        batch = batch._replace(last=row.number)
    if batch.last > after:
        yield batch


def _send_all(
    table: TableFile,
    reader: RowReader,
    progress: FeedbackProgress,
    send: Callable[[list[bytes]], list[Receipt]],
    rate: float | None,
) -> None:
    """Send every row after the position, and keep what became of it batch by batch."""
    size = MAX_BATCH_EVENTS if rate is None else max(1, min(MAX_BATCH_EVENTS, int(rate)))
    done, sent, began = progress.position.number, 0, time.monotonic()
    with progress_bar("sending", table.last_number() - done) as advance:
        for batch in _batches(table, reader, done, size):
            if rate is not None:
                time.sleep(max(0.0, began + sent / rate - time.monotonic()))
            receipts = send([event.body for event in batch.events]) if batch.events else []
            statuses: Counter[str] = Counter(receipt.status for receipt in receipts)
            statuses["rejected"] += len(batch.unusable)
            rejected = [*batch.unusable, *_rejected_rows(reader, batch.events, receipts)]
            if done == 0 and batch.is_full(size) and statuses.keys() <= {"rejected"}:
                raise InvalidInput(
                    f"all of the first {len(rejected):,} rows are rejected, the first of them "
                    f"because {rejected[0][1]}. Nothing else was sent: mend the file, or say by "
                    f"flags which column is which"
                )
            progress.answered(batch.last, statuses, sorted(rejected, key=lambda one: one[0]))
            advance(batch.last - done)
            done, sent = batch.last, sent + len(batch.events)


def _rejected_rows(
    reader: RowReader, events: Sequence[RowEvent], receipts: Sequence[Receipt]
) -> list[tuple[int, str, dict[str, Any]]]:
    """Return the rows of which an event was rejected, each once, with the ids of their events."""
    found: dict[int, tuple[int, str, dict[str, Any]]] = {}
    for event, receipt in zip(events, receipts, strict=True):
        if receipt.status == "rejected":
            number = event.row.number
            reason = receipt.detail or "no reason was given"
            found.setdefault(number, (number, reason, reader.with_id(event)))
    return list(found.values())


def _show(table: TableFile, reader: RowReader) -> None:
    """Print what would be sent: how many events, and the first of them."""
    events, unusable = 0, 0
    for batch in _batches(table, reader, 0, MAX_BATCH_EVENTS):
        for event in batch.events[: max(0, _SHOWN - events)]:
            click.echo(event.body.decode())
        for _, reason, _ in batch.unusable[: max(0, _SHOWN - unusable)]:
            click.echo(f"Cannot be sent: {reason}")
        events, unusable = events + len(batch.events), unusable + len(batch.unusable)
    click.echo(f"{events:,} events, {unusable:,} rows that cannot be sent; nothing was sent.")


def _say_position(table: TableFile, progress: FeedbackProgress, *, restart: bool) -> None:
    progress.begin(restart=restart)
    if progress.position.number:
        click.echo(
            f"Going on after {table.where(progress.position.number)}, as "
            f"{str(progress.path)!r} says; --restart begins again.",
            err=True,
        )
    elif progress.changed:
        click.echo(
            f"{table.path!r}, its columns or the service are not those of the last time: beginning "
            f"with the first row. What was sent under the same event_id counts once.",
            err=True,
        )


def _say_trouble(trouble: ForetellError) -> None:
    click.echo(f"Waiting, and trying again: {trouble}.", err=True)


def _said(counts: Mapping[str, int]) -> str:
    """Return in words what became of the events."""
    parts = [f"{counts[one]:,} {one}" for one in _STATUSES if counts.get(one)]
    return f"{sum(counts.values()):,} events: {', '.join(parts) or 'none'}."
