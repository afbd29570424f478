"""Rules and HTTP are tried on PostgreSQL too, where a test has many parameters with the first.

What takes many decisions and says something of a policy is the same on every log: it is tried in
memory, and with the first of its parameters on SQLite.
"""

from __future__ import annotations

import pytest

LOGS = ("log_engine", "served", "live")
"""The parameters that name the engine of a log, where it is not the log that is tested."""
FOLDERS = ("rules", "http")
"""Where tests run on every log; those of the engine and its reports run in memory and on SQLite."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is tried on the other engines."""
    seen: set[tuple[str, str, str]] = set()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        parameters = (
            item.callspec.params
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else {}
        )
        log = next((parameters[one] for one in LOGS if one in parameters), None)
        name = (str(item.path), item.name.partition("[")[0], str(log))
        statistics = item.get_closest_marker("statistics") is not None
        needless = name in seen and (log == "postgres" or (log == "sqlite" and statistics))
        if log == "postgres":
            needless |= item.path.parent.name not in FOLDERS or statistics
        (left_out if needless else kept).append(item)
        seen.add(name)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
