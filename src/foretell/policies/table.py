"""Every policy in one table: what it needs to be told, its cost, and when to use it."""

from __future__ import annotations

from typing import NamedTuple

from foretell.policies.registry import registered_policies

NOTHING = "nothing"


class PolicyRow(NamedTuple):
    """One line of the table."""

    name: str
    summary: str
    needs: str
    """What it must be told beforehand, as words joined by commas."""
    cost: str
    """Its work per round, with K actions and S signals."""
    use: str
    """When to use it."""
    where: str
    """Where it runs: "lab" for what knows too much for real life, else "lab, live"."""


def policy_table(*, shipped: bool = False) -> list[PolicyRow]:
    """Return a row for every registered policy, or only for those that come with foretell.

    >>> next(row.needs for row in policy_table() if row.name == "sw-ucb")
    'window'
    """
    return [
        PolicyRow(
            one.name,
            one.summary,
            ", ".join(one.needs) or NOTHING,
            one.cost or "not stated",
            one.use or "not stated",
            "lab" if one.lab_only else "lab, live",
        )
        for one in registered_policies().values()
        if not shipped or one.spec.__module__.startswith("foretell.")
    ]


def policy_markdown() -> str:
    """Return the table of the policies that come with foretell, as `docs/policies/index.md` has it.

    >>> print(policy_markdown().splitlines()[0])
    | policy | what it does | needs to be told | work per round | when to use it | where |
    """
    head = ("policy", "what it does", "needs to be told", "work per round", "when to use it")
    lines = [[*head, "where"], ["---"] * 6]
    for row in policy_table(shipped=True):
        lines.append([f"[`{row.name}`]({row.name}.md)", *row[1:]])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
