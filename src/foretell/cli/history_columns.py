"""The columns of an earlier log in a file: which there are, and which names are mistakes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from foretell.errors import InvalidInput, listed

NEEDED = ("action", "signal")
NUMBERS = ("reward", "propensity")
COLUMNS = (*NEEDED, *NUMBERS, "decided_at")
_NEAR = 0.83
"""How like a column another name is that is taken for a mistake: `rewrad`, not `decided_by`."""
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


def check_columns(path: str, columns: Iterable[str]) -> None:
    """Refuse a file without the columns that it needs, or with names that are mistakes.

    Columns that are nobody's mistake are ignored.
    """
    names = list(columns)
    for needed in NEEDED:
        if needed not in names:
            raise InvalidInput(
                f"{path!r} has no column {needed!r}, got {listed(names)}: {_advice(names)}"
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
    written = name.strip().casefold().replace(" ", "_").replace("-", "_")
    if near := difflib.get_close_matches(written, missing, n=1, cutoff=_NEAR):
        raise InvalidInput(
            f"{where} has {name!r} and no {near[0]!r}: rename it, to {near[0]!r} or, if it is "
            f"something else, to a name that is less like it"
        )


def _advice(names: list[str]) -> str:
    for sign, word in _SEPARATORS.items():
        if len(names) == 1 and sign in names[0]:
            return f"separate the columns by commas, not by {word}"
    return "it needs action and signal, and may have reward, decided_at and propensity"
