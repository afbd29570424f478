"""Rewards of which only conversions are reported: fields of the policies that correct for it."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.errors import InvalidInput
from foretell.policies.spec import check_flag, option
from foretell.policies.theta_spec import ThetaSpec
from foretell.types import is_number


@dataclass(frozen=True, kw_only=True)
class CensoredSpec(ThetaSpec):
    """The base of the specs of policies that draw theta, and can correct it for silence.

    With `censored` a conversion counts when it arrives, and an open decision by the share of
    conversions expected by its age, with delays that are learned around `typical_delay`: the mean
    delay of a reward in rounds, one for all signals or a tuple of one for each.
    """

    censored: bool = option(default=False)
    """Whether only conversions are reported, and silence means nothing until a window closes."""
    typical_delay: float | tuple[float, ...] | None = option(None)
    """Mean delay of a reward in rounds, for all signals or for each; needed with `censored`."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_flag("censored", self.censored)
        typical = self.typical_delay
        if not self.censored:
            if typical is not None:
                raise InvalidInput(
                    f"typical_delay is for censored rewards only, got {typical!r}: "
                    f"add censored=True, or leave it out"
                )
            return
        if typical is None:
            raise InvalidInput(
                "censored rewards need a typical_delay, the mean delay of a reward, because few "
                "conversions look like many late ones without it: give one number, or a tuple"
            )
        for one in typical if isinstance(typical, tuple) else (typical,):
            if not is_number(one) or one <= 0:
                raise InvalidInput(
                    f"typical_delay must be a finite number above 0, or a tuple of one for each "
                    f"signal, got {one!r}: give the mean delay of a reward"
                )
