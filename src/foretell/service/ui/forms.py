"""Forms as bodies of the API: a field is checked, and refused, as if it had come as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeVar

import msgspec

from foretell import protocol
from foretell.policies import policy_table
from foretell.service.http.bodies import parse_json
from foretell.service.http.responses import encode
from foretell.service.model.errors import Unusable

UNITS = {"minutes": 60.0, "hours": 3600.0, "days": 86400.0, "weeks": 604800.0}
Body = TypeVar("Body", bound=protocol.RequestBody)


def as_body(kind: type[Body], fields: Mapping[str, Any]) -> Body:
    """Return the body of a request, or raise what the API would answer."""
    body: Body = parse_json(msgspec.json.Decoder(kind), encode(dict(fields)))
    return body


def policy_names() -> list[str]:
    """Return the policies that a campaign can have, without those that need a setting.

    >>> [name in policy_names() for name in ("nsd-adaptive", "sw-ucb", "oracle-ucb")]
    [True, False, False]
    """
    return sorted(
        row.name for row in policy_table() if row.where != "lab" and row.needs == "nothing"
    )


def lines(text: str) -> list[str]:
    r"""Return the lines of a field, without empty ones.

    >>> lines(" a \r\n\nb")
    ['a', 'b']
    """
    return [line.strip() for line in text.splitlines() if line.strip()]


def number(text: str) -> float | str:
    """Return a number that was typed in; what is none stays as it is, and is refused with it.

    >>> number("0,5"), number("1e3"), number("many"), number("nan")
    (0.5, 1000.0, 'many', 'nan')
    """
    try:
        found = float(text.strip().replace(",", "."))
    except ValueError:
        return text
    return found if isfinite(found) else text


def window(form: Mapping[str, str], name: str) -> float | str:
    """Return a window in seconds: a number, and its unit in a field of its own.

    >>> window({"reward_window": "7", "reward_window_unit": "days"}, "reward_window")
    604800.0
    >>> window({"reward_window": "1e308", "reward_window_unit": "days"}, "reward_window")
    '1e308'
    """
    written = form.get(name, "")
    typed = number(written)
    if not isinstance(typed, float):
        return typed
    seconds = typed * UNITS.get(form.get(f"{name}_unit", ""), 1.0)
    return seconds if isfinite(seconds) else written


def decisions_a_day(form: Mapping[str, str]) -> float:
    """Return about how many decisions there will be, for the simulation of the first weeks."""
    typed = number(form.get("decisions_a_day", ""))
    if not isinstance(typed, float) or typed <= 0:
        raise Unusable(
            "decisions a day must be a number above 0: say about how many there will be",
            field="decisions_a_day",
        )
    return typed


def campaign_fields(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a new campaign that were typed in."""
    fields: dict[str, Any] = {
        "name": form.get("name", "").strip(),
        "actions": lines(form.get("actions", "")),
        "signals": lines(form.get("signals", "")),
        "signals_ordered": form.get("signals_ordered", "yes") == "yes",
        "signal_window": window(form, "signal_window"),
        "reward_window": window(form, "reward_window"),
        "policy": form.get("policy", "").strip() or "nsd-adaptive",
        "reward_name": form.get("reward_name", "").strip(),
        "status": "running" if form.get("status") == "running" else "draft",
    }
    for name in ("holdout", "explore"):
        share = number(form.get(name, "0") or "0")
        fields[name] = share / 100.0 if isinstance(share, float) else share
    return fields
