"""Log lines: one each, in both forms, and without secrets."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from foretell.service.logging import ConsoleFormatter, JsonFormatter, set_up_logging
from foretell.service.model.keys import new_key

FORMATTERS = pytest.mark.parametrize("formatter", [ConsoleFormatter, JsonFormatter])


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    """Make a record, with the error that is being handled."""
    logger = logging.getLogger("foretell.service")
    error = sys.exc_info() if sys.exc_info()[0] else None
    return logger.makeRecord(
        logger.name, logging.ERROR, "file.py", 1, message, args, error, extra=extra
    )


def fail(unit: str) -> None:
    """Fail with something in hand."""
    raise RuntimeError("it failed") from None


def test_a_json_line_is_one_object_with_its_fields() -> None:
    line = JsonFormatter().format(record("record %d is damaged", 7, campaign="c"))
    read = json.loads(line)
    assert read.pop("timestamp").endswith("Z")
    assert read == {"message": "record 7 is damaged", "level": "error", "campaign": "c"}


def test_a_console_line_has_the_same_words() -> None:
    line = ConsoleFormatter().format(record("record %d is damaged", 7, campaign="c"))
    assert "record 7 is damaged" in line
    assert "campaign=c" in line
    assert "\n" not in line


def test_fields_on_a_console_line_are_sorted_and_quoted_where_they_need_it() -> None:
    line = ConsoleFormatter().format(record("done", words="two words", count=3))
    assert line.endswith("Z [error    ] done                           count=3 words='two words'")


@FORMATTERS
def test_a_key_is_never_in_a_line(formatter: type[logging.Formatter]) -> None:
    key = new_key()
    line = formatter().format(record(f"got {key}", header=f"Bearer {key}"))
    assert key not in line
    assert "ftk_…" in line


@FORMATTERS
def test_a_traceback_shows_no_value(formatter: type[logging.Formatter]) -> None:
    unit = "someone" + "@example.org"
    try:
        fail(unit)
    except RuntimeError:
        line = formatter().format(record("request failed"))
    assert "RuntimeError: it failed" in line
    assert unit not in line


@pytest.mark.parametrize("as_json", [False, True])
def test_without_a_standard_error_nothing_is_logged(
    monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    root, ours = logging.getLogger(), logging.getLogger("foretell")
    monkeypatch.setattr(root, "handlers", [])
    before = root.level, ours.level
    monkeypatch.setattr(sys, "stderr", None)
    try:
        set_up_logging("info", as_json=as_json)
        ours.error("nobody reads this")
        assert len(root.handlers) == 1
    finally:
        root.setLevel(before[0])
        ours.setLevel(before[1])
