"""Whatever happens, in any order and any number of times: live state, log and reference agree."""

from __future__ import annotations

import pytest

from tests.model.effort import effort
from tests.model.machine import LiveModel


class OrderFree(LiveModel):
    """Policies to which the present outcome of every decision is delivered."""

    policies = ("ucb", "nsd-kl", "nsd-ucrl2(window=5)", "nsd-psrl(window=4)", "nsd-ucrl2")
    order_free = True


class Corrected(LiveModel):
    """A policy that corrects for the silence of rewards."""

    policies = ("nsd-psrl(window=4)", "nsd-psrl(ordered=True)")
    order_free = True
    corrects = True


class Stream(LiveModel):
    """Policies that read signals in the order of decisions, once."""

    policies = (
        "recorder",
        "recorder-correctable",
        "nsd-adaptive",
        "nsd-kl-glr",
        "nsd-psrl-cp",
        "sw-ts(window=5)",
    )


class OrderFreeOnDisk(OrderFree):
    """The same on SQLite."""

    log_engine = "sqlite"


class CorrectedOnDisk(Corrected):
    """The same on SQLite."""

    log_engine = "sqlite"


class StreamOnDisk(Stream):
    """The same on SQLite."""

    log_engine = "sqlite"


class OrderFreeInPostgres(OrderFree):
    """The same in PostgreSQL."""

    log_engine = "postgres"


class StreamInPostgres(Stream):
    """The same in PostgreSQL."""

    log_engine = "postgres"


TestOrderFree = pytest.mark.slow(OrderFree.TestCase)
TestOrderFree.settings = effort(36)
TestCorrected = pytest.mark.slow(Corrected.TestCase)
TestCorrected.settings = effort(20)
TestStream = pytest.mark.slow(Stream.TestCase)
TestStream.settings = effort(36)
TestOrderFreeOnDisk = pytest.mark.slow(OrderFreeOnDisk.TestCase)
TestOrderFreeOnDisk.settings = effort(12)
TestCorrectedOnDisk = pytest.mark.slow(CorrectedOnDisk.TestCase)
TestCorrectedOnDisk.settings = effort(12)
TestStreamOnDisk = pytest.mark.slow(StreamOnDisk.TestCase)
TestStreamOnDisk.settings = effort(12)
TestOrderFreeInPostgres = pytest.mark.slow(OrderFreeInPostgres.TestCase)
TestOrderFreeInPostgres.settings = effort(3)
TestStreamInPostgres = pytest.mark.slow(StreamInPostgres.TestCase)
TestStreamInPostgres.settings = effort(3)
