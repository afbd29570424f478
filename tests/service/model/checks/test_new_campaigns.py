"""What is wrong with a new campaign: everything, and nothing that only follows from the rest."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.service.http.bodies import parse_json
from foretell.service.model.errors import Unusable


def errors_of(**fields: Any) -> list[tuple[str, str]]:
    """Return what is wrong with a new campaign."""
    body = {"name": "c", "actions": ["a", "b"], "signals": ["click"], **fields}
    with pytest.raises(Unusable) as caught:
        parse_json(msgspec.json.Decoder(protocol.NewCampaign), msgspec.json.encode(body))
    return [(one.field, one.detail) for one in caught.value.errors]


def test_names_are_compared_though_some_of_them_may_not_be_so() -> None:
    found = errors_of(signals=["klick größe", "none", "click", "click"], policy="nsd-adaptiv")
    assert [field for field, _ in found] == ["signals[0]", "signals", "signals", "policy"]
    assert "got 'click' twice" in found[1][1]
    assert "got it after 'klick größe'" in found[2][1]
    assert "did you mean 'nsd-adaptive'" in found[3][1]


@pytest.mark.parametrize(
    ("wrong", "follows"),
    [
        ({"signals": []}, {"signal_values": {"click": 0.5}}),
        ({"signals": ["a b"]}, {}),
        ({"signals": 5}, {"policy": "nsd-adaptive(ordered=True, signal_values=(0.0, 0.5, 1.0))"}),
        ({"signal_window": -3600.0}, {"reward_window": 60.0}),
        ({"holdout": 1.5}, {"explore": 1.0}),
        ({"reward_range": [0.0]}, {"default_reward": 5.0, "signal_values": {"click": 5.0}}),
    ],
)
def test_what_only_follows_from_another_error_is_not_said(
    wrong: dict[str, Any], follows: dict[str, Any]
) -> None:
    (name,) = wrong
    assert {field.partition("[")[0] for field, _ in errors_of(**wrong, **follows)} == {name}


def test_what_stands_by_itself_is_said_beside_it() -> None:
    found = errors_of(signals=5, policy="oracle-ucb", reward_window=60.0, holdout=2.0)
    assert [field for field, _ in found] == ["signals", "holdout", "policy", "reward_window"]
