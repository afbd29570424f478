"""What is wrong with a form, in the words of the API and the units of the form.

The API counts windows in seconds and shares from 0 to 1, and counts its lists from 0. A form has
units of its own, per cents, and lines; so what is said of these is said of what was typed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from foretell.protocol import FieldError
from foretell.service.model.checks.type_words import shown
from foretell.service.reports.words import all_of
from foretell.service.ui.forms import UNITS, lines, number

MOST_NAMED = 3
"""Lines of a field that are named, one by one, where they are wrong."""
MOST_SECONDS = 10 * 366 * 86_400.0
"""The longest window."""
SHARES = ("holdout", "explore")
WINDOWS = ("signal_window", "reward_window")
_LINE = re.compile(r"(actions|signals)\[([0-9]+)\]")


def typed_errors(errors: Sequence[FieldError], form: Mapping[str, str]) -> dict[str, str]:
    """Return for each field of a form what is wrong with it, in one text."""
    found: dict[str, list[str]] = defaultdict(list)
    in_lines: dict[str, list[FieldError]] = defaultdict(list)
    for one in errors:
        name = re.split(r"[\[.]", one.field)[0]
        if _LINE.fullmatch(one.field):
            in_lines[name].append(one)
        else:
            found[name].append(_in_units(name, one.detail, form))
    for name, wrong in in_lines.items():
        found[name].insert(0, _lines(name, wrong, form))
    order = [*form, *found]
    return {name: "; ".join(dict.fromkeys(found[name])) for name in sorted(found, key=order.index)}


def _lines(name: str, wrong: list[FieldError], form: Mapping[str, str]) -> str:
    """Return what is wrong with the lines of a field: the rule once, and all that broke it."""
    typed, first = lines(form.get(name, "")), wrong[0]
    numbers = [int(found[2]) for one in wrong if (found := _LINE.fullmatch(one.field))]
    kind = name.removesuffix("s")
    said = _LINE.sub(lambda found: f"{kind} {int(found[2]) + 1}", first.detail, count=1)
    others = [f"{kind} {one + 1} {shown(typed[one])}" for one in numbers[1:] if one < len(typed)]
    if not others:
        return said
    more = len(others) - (MOST_NAMED - 1)
    named = others if more <= 0 else [*others[: MOST_NAMED - 1], f"{more} more"]
    return f"{said}; the same holds for {all_of(named)}"


def _in_units(name: str, detail: str, form: Mapping[str, str]) -> str:
    """Return what is wrong with a field as it was typed."""
    typed = number(form.get(name, ""))
    if name in WINDOWS:
        unit = _unit(name, form)
        if "as a reward waits" in detail:
            windows = " and ".join(f"{form[one]} {_unit(one, form)}" for one in WINDOWS[::-1])
            return re.sub(r"got .* s and .* s:", lambda _: f"got {windows}:", detail)
        most = f"{MOST_SECONDS / UNITS.get(unit, 1.0):,.0f}"
        return _said(name, f"a number of {unit} above 0 and at most {most}", form, typed, 0.0)
    if name in SHARES and "together" in detail:
        shares = " and ".join(form.get(one, "0") for one in ("explore", "holdout"))
        at_most = detail.replace("at most 1 together", "at most 100 per cent together")
        return re.sub(r"got .*:", lambda _: f"got {shares}:", at_most)
    if name in SHARES:
        what = "a number of per cent of at least 0 and at most 100"
        return _said(name, what, form, typed, 0.0)
    return detail


def _said(name: str, what: str, form: Mapping[str, str], typed: float | str, low: float) -> str:
    advice = "send a number"
    if isinstance(typed, float):
        advice = f"send a {'larger' if typed <= low else 'smaller'} one"
    got = form.get(name, "").strip() if isinstance(typed, float) else shown(typed)
    return f"{name} must be {what}, got {got}: {advice}"


def _unit(name: str, form: Mapping[str, str]) -> str:
    unit = form.get(f"{name}_unit", "")
    return unit if unit in UNITS else "seconds"
