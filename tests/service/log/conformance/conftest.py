"""What every log promises, whatever keeps it: tried on each engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.log.engines import ENGINES, Engine


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Every engine, with an empty log."""
    return ENGINES[request.param](tmp_path)
