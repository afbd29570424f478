"""Several things at one time, of which the first error ends all."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of these; an error in one cancels the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
