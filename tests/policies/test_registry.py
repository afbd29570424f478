"""What the registry knows about a policy, and the table that shows it."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.policies import policy_table


def test_every_policy_of_ours_says_its_cost_and_its_use() -> None:
    for row in policy_table(shipped=True):
        assert row.cost.startswith("O("), row.name
        assert row.use != "not stated", row.name


def test_what_an_oracle_knows_is_named_among_its_needs() -> None:
    for one in ft.registered_policies().values():
        if one.spec.__module__.startswith("foretell.") and one.lab_only:
            assert {"change points", "changes of theta"} & set(one.needs)
            assert ("undelayed rewards" in one.needs) == one.undelayed


@pytest.mark.usefixtures("own_registry")
def test_registering_without_the_new_words_still_works() -> None:
    class Plain(ft.Uniform):
        """Nothing is said about it."""

    ft.register("plain-baseline")(Plain)
    row = next(row for row in policy_table() if row.name == "plain-baseline")
    assert (row.needs, row.cost) == ("nothing", "not stated")
    assert "plain-baseline" not in [row.name for row in policy_table(shipped=True)]
