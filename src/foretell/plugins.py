"""Policies and scenarios of installed packages, found by their entry points.

A package names them in its pyproject.toml:

    [project.entry-points."foretell.policies"]
    my-ids = "my_package.ids"

    [project.entry-points."foretell.scenarios"]
    my-world = "my_package.worlds:my_world"

They are loaded when a name is asked for that nothing goes by yet, or when all are listed.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from functools import cache
from typing import Any

POLICIES, SCENARIOS = "foretell.policies", "foretell.scenarios"


@cache
def load_plugins(group: str) -> dict[str, Any]:
    """Load the entry points of a group, once; one that fails is named in a warning."""
    loaded = {}
    for point in importlib.metadata.entry_points(group=group):
        try:
            loaded[point.name] = point.load()
        except Exception as error:  # noqa: BLE001  a package of others may fail in any way
            owner = point.dist.name if point.dist is not None else "a package"
            warnings.warn(
                f"the entry point {point.name!r} ({group}) of {owner} cannot be loaded "
                f"({type(error).__name__}: {error}): mend or uninstall {owner}",
                RuntimeWarning,
                stacklevel=2,
            )
    return loaded
