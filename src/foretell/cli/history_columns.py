"""The columns of an earlier log in a file: which there are, and which names are mistakes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from foretell.cli.table_file import TableFile
from foretell.errors import InvalidInput, listed

NEEDED = ("action", "signal")
NUMBERS = ("reward", "propensity")
COLUMNS = (*NEEDED, *NUMBERS, "decided_at")
_NEAR = 0.83
"""How like a column another name is that is taken for a mistake: `rewrad`, not `decided_by`."""
_ADVICE = "it needs action and signal, and may have reward, decided_at and propensity"


def check_columns(table: TableFile) -> None:
    """Refuse a file without the columns that it needs, or with names that are mistakes.

    Columns that are nobody's mistake are ignored.
    """
    path, names = table.path, table.columns
    for needed in NEEDED:
        if needed not in names:
            raise InvalidInput(
                f"{path!r} has no column {needed!r}, got {listed(names)}: "
                f"{table.advice() or _ADVICE}"
            )
    for name in COLUMNS:
        if names.count(name) > 1:
            raise InvalidInput(
                f"{path!r} has {names.count(name)} columns {name!r}: rename all but one"
            )
    for name in names:
        check_name(path, name, names)


def check_name(where: str, name: str, names: Iterable[str]) -> None:
    """Refuse a name that is nearly that of a column, where that one is missing among all names.

    What is imported cannot be taken back, so rewards do not get lost by a letter.
    """
    if name in COLUMNS:
        return
    missing = [one for one in COLUMNS if one not in names]
    if near := nearest(name, missing):
        raise InvalidInput(
            f"{where} has {name!r} and no {near!r}: rename it, to {near!r} or, if it is "
            f"something else, to a name that is less like it"
        )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that another one is nearly, whatever its case and its separators.

    >>> nearest("Decided-At", ["decided_at"]), nearest("decided_by", ["decided_at"])
    ('decided_at', None)
    """
    written = name.strip().casefold().replace(" ", "_").replace("-", "_")
    near = difflib.get_close_matches(written, list(known), n=1, cutoff=_NEAR)
    return near[0] if near else None
