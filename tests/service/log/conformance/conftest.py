"""What every log promises, whatever keeps it: tried on each engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.log.engines import ENGINES, Engine


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Every engine, with an empty log."""
    engine = ENGINES[request.param](tmp_path)
    yield engine
    engine.close()
