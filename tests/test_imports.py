"""Importing foretell is light, and what it offers is there."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import foretell as ft

LEAN = """
import sys
import foretell as ft
agent = ft.Agent("nsd-ucrl2(window=8)", actions=["a", "b"], signals=["n", "c"], seed=0)
agent.reward(agent.decide(), 1.0)
{more}
heavy = sorted({{"numba", "scipy", "matplotlib", "rich"}} & set(sys.modules))
print(",".join(heavy))
"""

PLAIN_RUN = 'ft.simulate(ft.scenario("paper-stationary"), "ucb", 20, 1, compiled=False)'


@pytest.mark.parametrize("more", ["", PLAIN_RUN], ids=["agent", "plain run"])
def test_importing_and_deciding_loads_nothing_heavy(more: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAN.format(more=more)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("name", ft.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ft, name) is not None


def test_policies_is_the_package_and_registered_policies_lists_them() -> None:
    assert importlib.import_module("foretell.policies") is ft.policies
    assert len(ft.registered_policies()) > 20


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        ft.simulat  # noqa: B018


def test_names_that_are_listed_are_ours() -> None:
    assert dir(ft) == sorted(ft.__all__)
    for name in ("importlib", "TYPE_CHECKING", "Any", "annotations"):
        assert name not in dir(ft)
