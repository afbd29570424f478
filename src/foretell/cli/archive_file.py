"""The Parquet file of an archived month: a row for each record, whole or not there at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from foretell.errors import DamagedFile, InvalidInput, MissingExtra
from foretell.files import open_private, sync

if TYPE_CHECKING:
    from foretell.service.model.events import Record

COLUMNS = {
    "seq": "BIGINT",
    "recorded_at": "BIGINT",
    "campaign": "BIGINT",
    "decision": "BIGINT",
    "type": "VARCHAR",
    "event": "VARCHAR",
}
"""Times are microseconds since 1970; an event is JSON, with the names of its fields."""


@contextmanager
def write_archive(path: Path) -> Iterator[Callable[[Sequence[Record]], None]]:
    """Let records be added to a new file, which gets its name once it is whole and on disk."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra(
            "an archive needs DuckDB, which is not installed: pip install 'foretell[parquet]'"
        ) from None
    if path.exists():
        raise InvalidInput(f"{str(path)!r} exists already: move it, or name another --out")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        rows, part = Path(folder, "rows.ndjson"), Path(folder, path.name)
        written = 0
        with open_private(rows) as file:

            def add(records: Sequence[Record]) -> None:
                nonlocal written
                file.writelines(msgspec.json.encode(_row(one)) + b"\n" for one in records)
                written += len(records)

            yield add
        config: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "threads": 1,
            "temp_directory": folder,
        }
        with duckdb.connect(config=config) as connection:
            relation = connection.read_json(
                str(rows), columns=COLUMNS, format="newline_delimited", maximum_object_size=1 << 26
            )
            open_private(part).close()
            relation.write_parquet(str(part))
            count = "SELECT count(*), count(DISTINCT seq) FROM read_parquet(?)"
            if connection.execute(count, [str(part)]).fetchone() != (written, written):
                raise DamagedFile(f"{str(path)!r} was not written whole: nothing is detached")
        sync(part)
        part.rename(path)
        sync(path.parent)


def _row(record: Record) -> dict[str, Any]:
    return {
        "seq": record.seq,
        "recorded_at": record.recorded_at,
        "campaign": record.campaign,
        "decision": record.decision,
        "type": type(record.event).__name__,
        "event": msgspec.json.encode(msgspec.structs.asdict(record.event)).decode(),
    }
