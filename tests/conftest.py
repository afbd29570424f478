"""Settings of every test: hypothesis draws the same examples each time, without a clock.

At the end of a run it is printed where its time went, folder by folder.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, settings

from foretell.kernel import KERNELS
from foretell.policies import registry

settings.register_profile(
    "same-every-time",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("same-every-time")
if threading.current_thread() is threading.main_thread():
    # who runs the tests in the background ignores Ctrl-C, and so would the commands that they stop
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHORT_RUN = 5.0
"""Seconds: a run that took less prints no times."""
_seconds: defaultdict[str, float] = defaultdict(float)
_tests: Counter[str] = Counter()


def folder_of(nodeid: str) -> str:
    """Return the folder under which the time of a test is counted.

    >>> folder_of("tests/service/rules/test_late_feedback.py::test_one")
    'tests/service'
    >>> folder_of("README.md::README.md")
    'doctests'
    """
    path = PurePosixPath(nodeid.partition("::")[0])
    if path.parts[0] != "tests":
        return "doctests"
    return "/".join(path.parts[:2] if len(path.parts) > 2 else path.parts[:1])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take minutes."""
    items.sort(key=lambda item: item.get_closest_marker("minutes") is None)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count the time of a test, its fixtures included."""
    folder = folder_of(report.nodeid)
    _seconds[folder] += report.duration
    _tests[folder] += report.when == "call"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print where the time went, the longest first."""
    if sum(_seconds.values()) < SHORT_RUN:
        return
    terminalreporter.section("seconds by folder, over all processes")
    for folder, seconds in sorted(_seconds.items(), key=lambda one: -one[1]):
        terminalreporter.write_line(f"{seconds:8.1f} s  {_tests[folder]:5,} tests  {folder}")


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test register policies and kernels that no other test sees."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    kernels = len(KERNELS)
    yield
    del KERNELS[kernels:]
