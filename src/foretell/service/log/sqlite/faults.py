"""What SQLite says, in a sentence for whoever runs a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from foretell.errors import ForetellError


@contextmanager
def in_a_sentence(path: str) -> Iterator[None]:
    """Turn what the driver raises into an error of ours that names the database."""
    try:
        yield
    except apsw.Error as error:
        raise ForetellError(f"the database {path!r} cannot be used: {error}") from error
