"""What may happen to a campaign, to be drawn."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SIGNALS = ("none", "click", "buy")
SILENCES = st.sampled_from(["default", "unknown"])
WINDOWS = st.sampled_from([0.5, 1.0, 2.0, 3.0])
"""Seconds; a reward window may well be as long as the signal window, and is never shorter."""
TIMES = [0.000001, 0.004, 0.1, 0.2, 0.2, 0.5, 1.0, 5.0]
MAX_ACTIONS = 4
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "signal_window": WINDOWS,
        "reward_window": WINDOWS,
        "signal_silence": SILENCES,
        "reward_silence": SILENCES,
        "default_reward": st.sampled_from([0.25, 1.0]),
    },
)

signals = st.fixed_dictionaries({"signal": st.integers(0, 2)})
rewards = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["reward", "reward", "adjust", "retract"]),
        "value": st.sampled_from([-3.0, 0.0, 0.3, 1.0, 1.7, 9.0]),
        "name": st.integers(0, 2),
        "occurred": st.none() | st.integers(0, 3),
    }
)
voids = st.just({"kind": "void"})
feedback = st.tuples(st.integers(0, 30), signals | signals | rewards | rewards | voids)
Sent = tuple[int, dict[str, Any]]


def as_corrected(change: dict[str, Any]) -> dict[str, Any]:
    """Return a change with rewards that are corrected for silence, instead of reported all."""
    kept = {name: value for name, value in change.items() if name != "default_reward"}
    if kept.get("reward_silence") == "unknown":
        kept["reward_silence"] = "corrected"
    return kept
