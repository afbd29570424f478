"""Rules and HTTP are tried on PostgreSQL too, where a test has many parameters with the first."""

from __future__ import annotations

import pytest

LOGS = ("log_engine", "served", "live")
"""The parameters that name the engine of a log, where it is not the log that is tested."""
FOLDERS = ("rules", "http")
"""Where tests run on every log; those of the engine and its reports run in memory and on SQLite."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is tried on the other engines, and once on PostgreSQL."""
    seen: set[tuple[str, str]] = set()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        parameters = (
            item.callspec.params
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else {}
        )
        name = (str(item.path), item.name.partition("[")[0])
        if any(parameters.get(one) == "postgres" for one in LOGS):
            needless = name in seen or item.path.parent.name not in FOLDERS
            needless |= item.get_closest_marker("statistics") is not None
            (left_out if needless else kept).append(item)
            seen.add(name)
        else:
            kept.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
