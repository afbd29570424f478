"""Log lines of a server, for people or as JSON: everything that is logged goes the same way.

Nobody logs a key, a body or the value of a variable. As a last net, what looks like a key is
blotted out, and tracebacks show lines of code alone.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import Any

import structlog

_KEY = re.compile(r"ftk_[\w-]+")


def set_up_logging(level: str, *, as_json: bool) -> None:
    """Send log lines to standard error, if it is open, one each; other libraries only warn."""
    handler = logging.NullHandler() if sys.stderr is None else logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(as_json=as_json))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("foretell").setLevel(level.upper())


def _formatter(*, as_json: bool) -> logging.Formatter:
    if as_json:
        shown: list[Any] = [
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    else:
        shown = [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr is not None and sys.stderr.isatty(),
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *shown,
            _without_keys,
        ],
    )


def _without_keys(_logger: Any, _method: str, line: Any) -> str:
    return _KEY.sub("ftk_…", line)
