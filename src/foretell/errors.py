"""Every error that foretell raises on purpose.

    ForetellError
    ├── InvalidInput       a value that cannot be used (also a ValueError)
    ├── UnknownName        no policy, scenario, action or signal of that name (also a KeyError)
    ├── MissingExtra       an optional part is not installed (also an ImportError)
    ├── DecisionError      feedback that fits no open decision (also a LookupError)
    ├── DamagedFile        a saved file that cannot be trusted
    └── PolicyDefect       a policy broke one of the laws in `foretell.policies.conformance`

The client's own errors are in `foretell.client.errors`, those of the service in
`foretell.service.model.errors`.

A message is one sentence: what is wrong, what was got, what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ForetellError(Exception):
    """The root of all errors raised on purpose."""


class InvalidInput(ForetellError, ValueError):
    """A value that cannot be used."""


LISTED = 30
"""Names that a sentence lists."""
LONG = 40
"""Characters of a name for which a similar one is looked for: that takes long for long names."""


def listed(known: Iterable[str]) -> str:
    """List names in a sentence, the first of them where they are many.

    >>> listed(["low", "high"])
    "'low', 'high'"
    """
    names = list(known)
    more = len(names) - LISTED
    return ", ".join(repr(one) for one in names[:LISTED]) + (f" and {more} more" * (more > 0))


def near_miss(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that is nearest to another; None if none is near, or many are known.

    >>> near_miss("heros", ["hero", "footer"])
    'hero'
    """
    import difflib  # only those who mistyped a name wait for it

    few = len(known) <= 2 * LISTED and len(name) <= LONG
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6) if few else []
    return close[0] if close else None


class UnknownName(ForetellError, KeyError):
    """A name that nothing goes by; `name` is that name."""

    name = ""

    def __str__(self) -> str:
        """Show the sentence as it is, where KeyError would quote it."""
        return str(self.args[0])

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str], where: str = "") -> UnknownName:
        """Make the error for `name`, with the nearest known name as advice.

        >>> print(UnknownName.of("policy", "ubc", ["ucb", "sw-ucb"]))
        there is no policy 'ubc': did you mean 'ucb'?
        >>> print(UnknownName.of("field", "x", ["low", "high"], where="of a uniform delay"))
        there is no field 'x' of a uniform delay: choose one of 'low', 'high'
        """
        known = list(known)
        close = near_miss(name, known)
        advice = f"did you mean {close!r}?" if close else "choose one of " + listed(known)
        error = cls(f"there is no {kind} {name!r}{' ' * bool(where)}{where}: {advice}")
        error.name = name
        return error


class MissingExtra(ForetellError, ImportError):
    """An optional part is not installed."""


class DecisionError(ForetellError, LookupError):
    """Feedback that fits no open decision."""


class DamagedFile(ForetellError):
    """A saved file that cannot be trusted."""


class PolicyDefect(ForetellError, AssertionError):
    """A policy broke one of the laws that every policy obeys; `law` names it."""

    def __init__(self, law: str, detail: str) -> None:
        """Name the broken law and say how it was seen."""
        super().__init__(f"{law}: {detail}")
        self.law = law
