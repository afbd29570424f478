"""Hyper-parameters of a policy: a frozen dataclass that prints as text and is read back from it.

>>> from foretell.policies import NsdUcrl2, policy
>>> str(NsdUcrl2(window=800))
'nsd-ucrl2(window=800, delta=0.1)'
>>> policy("nsd-ucrl2(window=800)") == NsdUcrl2(window=800)
True
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from foretell.errors import InvalidInput
from foretell.types import is_number, is_whole

_OPTION = {"option": True}


def option(default: Any) -> Any:
    """Declare a field that is printed only where it differs from its default."""
    return dataclasses.field(default=default, metadata=_OPTION)


@dataclasses.dataclass(frozen=True)
class Spec:
    """The base of every spec; `foretell.register` gives it its name."""

    name: ClassVar[str] = ""

    def __str__(self) -> str:
        """Print as `name(field=value, …)`, options left at their default left out.

        Fields that are given by name only come last.
        """
        shown = [
            f"{field.name}={_plain(getattr(self, field.name))!r}"
            for field in sorted(dataclasses.fields(self), key=lambda field: field.kw_only is True)
            if not field.metadata.get("option") or getattr(self, field.name) != field.default
        ]
        name = self.name or type(self).__name__
        return f"{name}({', '.join(shown)})" if shown else name


def check_window(window: int | None) -> None:
    """Refuse a window that is no whole number of rounds."""
    if window is None:
        return
    if not is_whole(window):
        raise InvalidInput(
            f"window must be a whole number of rounds, got {window!r}: leave it out for no window"
        )
    if window < 1:
        raise InvalidInput(
            f"window must be at least 1 round, got {window}: leave it out for no window"
        )


def capped(window: int | None, horizon: int | None) -> int | None:
    """Return the window, no longer than the horizon where that is known."""
    return window if window is None or horizon is None else min(window, horizon)


def check_delta(delta: float) -> None:
    """Refuse an error probability outside (0, 1]."""
    if not is_number(delta) or not 0.0 < delta <= 1.0:
        raise InvalidInput(f"delta must lie in (0, 1], got {delta!r}: the usual choice is 0.1")


def check_scale(scale: float) -> None:
    """Refuse a factor of the radii that is negative or no number."""
    if not is_number(scale) or scale < 0.0:
        raise InvalidInput(
            f"scale must be a finite number of at least 0, got {scale!r}: 1 is the paper's radius"
        )


def check_flag(what: str, value: object) -> None:
    """Refuse a switch that is neither on nor off."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be True or False, got {value!r}")


def _plain(value: Any) -> Any:
    """Return a number of NumPy as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
