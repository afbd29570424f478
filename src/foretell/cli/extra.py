"""Commands that need more than a bare installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from foretell.errors import MissingExtra


@contextmanager
def serve_extra() -> Iterator[None]:
    """Import what the service needs, or say how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "foretell":
            raise
        raise MissingExtra(
            f"this command needs {error.name}, which is not installed: "
            f"install it with pip install 'foretell[serve]'"
        ) from error
