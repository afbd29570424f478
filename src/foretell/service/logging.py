"""Log lines of a server, for people or as JSON: everything that is logged goes the same way.

Nobody logs a key, a body or the value of a variable. As a last net, whatever looks like a key is
blotted out, and tracebacks show lines of code alone.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

_KEY = re.compile(r"ftk_[\w-]+")
_OWN_ATTRIBUTES = {*vars(logging.makeLogRecord({})), "message", "taskName"}
"""What every record has; the rest of its attributes were given as `extra`."""
_BARE = re.compile(r"[^\s=\"']*")
"""What needs no quotes on a line for people."""


_access = logging.getLogger("foretell.access")


def set_up_logging(level: str, *, as_json: bool, access_log: bool = False) -> None:
    """Send log lines to standard error, if it is open, one each; other libraries only warn."""
    handler = logging.NullHandler() if sys.stderr is None else logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else ConsoleFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("foretell").setLevel(level.upper())
    _access.setLevel(logging.INFO if access_log else logging.CRITICAL)


def log_request(request_id: str | None, status: int, size: int, **fields: object) -> None:
    """Log a request that was answered, with the bytes of its answer.

    Its path is not logged: it may name a unit.
    """
    known = {name: value for name, value in fields.items() if value is not None}
    _access.info(
        "request", extra={"request_id": request_id, "status": status, "bytes": size, **known}
    )


class JsonFormatter(logging.Formatter):
    """Writes a record as one JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields: dict[str, Any] = {"level": record.levelname.lower(), **_extras(record)}
        fields["timestamp"] = _timestamp(record)
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack_info"] = record.stack_info
        fields["message"] = record.getMessage()
        return _without_keys(json.dumps(fields, ensure_ascii=False, default=repr))


class ConsoleFormatter(logging.Formatter):
    """Writes a record for people: its time, level, message and fields, then its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, and below it the lines of its traceback."""
        fields = " ".join(
            f"{name}={_word(value)}" for name, value in sorted(_extras(record).items())
        )
        head = f"{_timestamp(record)} [{record.levelname.lower():<9}]"
        text = f"{head} {record.getMessage():<30} {fields}".rstrip()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        if record.stack_info:
            text += "\n" + record.stack_info
        return _without_keys(text)


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN_ATTRIBUTES}


def _timestamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _word(value: object) -> str:
    text = str(value)
    return text if _BARE.fullmatch(text) else repr(text)


def _without_keys(line: str) -> str:
    return _KEY.sub("ftk_…", line)
