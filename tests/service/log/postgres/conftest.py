"""Databases for the tests of one log with several writers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.log.postgres_server import QUICK, drop_database, made_database


@pytest.fixture
def dsn() -> Iterator[str]:
    """A database with an empty log."""
    dsn = made_database(**QUICK)
    yield dsn
    drop_database(dsn)


@pytest.fixture
def still() -> Iterator[str]:
    """A database whose deciders say nothing by themselves."""
    dsn = made_database(**QUICK | {"beat_seconds": 300.0, "lease_seconds": 3000.0})
    yield dsn
    drop_database(dsn)
