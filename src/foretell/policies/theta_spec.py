"""What is declared about theta before the first reward: fields of every policy that learns it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from foretell.errors import InvalidInput
from foretell.policies.spec import Spec, check_flag, option
from foretell.types import is_number

VALUES_WEIGHT = 10.0
"""Rewards of each signal that declared values count as, where nobody says how many."""


@dataclass(frozen=True, kw_only=True)
class ThetaSpec(Spec):
    """The base of the specs of policies that learn the mean reward of each signal.

    `ordered` declares that signals are listed weakest first; None says nothing, which is off in a
    simulation, and in a campaign what its `signals_ordered` says. `signal_values` are the mean
    rewards expected of the signals, in the unit of policies, None where nothing is known, and
    count as `signal_values_weight` rewards of each signal.
    """

    ordered: bool | None = option(None)
    """Whether signals are listed weakest first; None leaves it to the campaign."""
    signal_values: tuple[float | None, ...] | None = option(None)
    """Mean rewards expected of the signals, None where nothing is known."""
    signal_values_weight: float = option(VALUES_WEIGHT)
    """How many rewards of each signal the expected ones count as."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.ordered is not None:
            check_flag("ordered", self.ordered)
        weight = self.signal_values_weight
        if not is_number(weight) or weight < 0.0:
            raise InvalidInput(
                f"signal_values_weight must be a number of rewards, at least 0, got {weight!r}: "
                f"leave it out for {VALUES_WEIGHT:g}"
            )
        if self.signal_values is None:
            return
        known = [value for value in self.signal_values if value is not None]
        if not all(is_number(value) for value in known):
            raise InvalidInput(
                f"signal_values must be a number or None for each signal, "
                f"got {self.signal_values!r}: give what a reward is on average after each"
            )
        if self.ordered and any(later < value for value, later in pairwise(known)):
            raise InvalidInput(
                f"signal_values must not fall where signals are ordered, weakest first, "
                f"got {tuple(known)}: list the signals in another order, or declare no order"
            )
        plain = (None if value is None else float(value) for value in self.signal_values)
        object.__setattr__(self, "signal_values", tuple(plain))


def declare(spec: Spec, *, ordered: bool, values: tuple[float | None, ...], weight: float) -> Spec:
    """Return a spec with what is declared about theta, where its text does not say it itself."""
    if not isinstance(spec, ThetaSpec):
        return spec
    said: dict[str, Any] = {}
    if spec.ordered is None:
        said["ordered"] = ordered
    if spec.signal_values is None and any(value is not None for value in values):
        said |= {"signal_values": values, "signal_values_weight": weight}
    return dataclasses.replace(spec, **said)


def declared_fields(spec: ThetaSpec) -> dict[str, Any]:
    """Return what a spec declares about theta, to hand it to a policy that it is made of."""
    declared = [field for field in dataclasses.fields(spec) if field.kw_only]
    return {field.name: getattr(spec, field.name) for field in declared}
