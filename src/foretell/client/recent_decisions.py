"""The decisions that were last made for each unit: what is tracked later is about one of them."""

from __future__ import annotations

import threading
from collections import OrderedDict

from foretell.errors import InvalidInput, listed

MAX_UNITS = 10_000
"""Units whose decisions are remembered, the latest ones."""


class RecentDecisions:
    """Remembers the last decision of every flag for each of the latest units."""

    def __init__(self, units: int = MAX_UNITS) -> None:
        """Begin without any."""
        self._units = units
        self._lock = threading.Lock()
        self._known: OrderedDict[str, dict[str, str]] = OrderedDict()

    def keep(self, unit: str | None, flag: str, decision: str | None) -> None:
        """Remember a decision, and forget the unit that was longest not seen."""
        if not unit or decision is None:
            return
        with self._lock:
            self._known.setdefault(unit, {})[flag] = decision
            self._known.move_to_end(unit)
            if len(self._known) > self._units:
                self._known.popitem(last=False)

    def find(self, unit: str | None, flag: str | None) -> str:
        """Return the decision of a unit for a flag, or its only one; raise where there is none.

        >>> recent = RecentDecisions()
        >>> recent.keep("u1", "home-hero", "AXk3")
        >>> recent.find("u1", None)
        'AXk3'
        """
        with self._lock:
            known = dict(self._known.get(unit or "", {}))
        if flag is not None and flag in known:
            return known[flag]
        if flag is None and len(known) == 1:
            return next(iter(known.values()))
        if flag is None and known:
            raise InvalidInput(
                f"what was tracked for {unit!r} may be about {listed(known)}: name the flag in the "
                f"attribute flag_key, or the decision in decision_id"
            )
        raise InvalidInput(
            f"no flag was resolved lately for the targeting key {unit!r} in this process: name the "
            f"decision in the attribute decision_id, which is in the flag's metadata"
        )
