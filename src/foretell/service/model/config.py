"""From what a user asks for to how a campaign is set, or one sentence that says why not."""

from __future__ import annotations

from collections import Counter

import msgspec
from msgspec import UNSET

from foretell.errors import InvalidInput, UnknownName
from foretell.policies.registry import entry, policy, start
from foretell.protocol import ActionPatch, CampaignPatch, NewCampaign, Silence
from foretell.protocol.words import MOST_ACTIONS, MOST_SIGNALS
from foretell.service.model.errors import Conflict, NotFound
from foretell.service.model.events import Kept, Setup
from foretell.service.model.outcome import GRID
from foretell.types import Problem, RewardScale

SILENT = "none"
"""The signal that silence becomes."""
WIDEST_WINDOW = 10_000_000
"""Rounds that a policy's window may have live: each takes memory."""

READ_ANEW = (
    "policy",
    "signal_window",
    "reward_window",
    "default_reward",
    "reward_range",
    "signal_silence",
    "reward_silence",
)
"""Changes of these are read into the model by a re-fold."""


def new_setup(new: NewCampaign, seed: int) -> Setup:
    """Check a new campaign."""
    return checked(
        Setup(
            name=new.name,
            status=new.status,
            actions=tuple(new.actions),
            standing=tuple("active" for _ in new.actions),
            signals=_with_silence(new.signals, new.signal_silence),
            policy=new.policy,
            signal_window=new.signal_window,
            reward_window=new.reward_window,
            default_reward=new.default_reward,
            reward_range=new.reward_range,
            signal_silence=new.signal_silence,
            reward_silence=new.reward_silence,
            explore=new.explore,
            holdout=new.holdout,
            sticky=new.sticky,
            seed=seed,
        )
    )


def patched(setup: Setup, patch: CampaignPatch) -> tuple[Setup, bool]:
    """Change a campaign; tells whether the policy must read the log anew."""
    asked = {
        name: value
        for name in patch.__struct_fields__
        if (value := getattr(patch, name)) is not UNSET
    }
    if "signals" in asked:
        wanted = _with_silence(asked["signals"], asked.get("signal_silence", setup.signal_silence))
        if wanted[: len(setup.signals)] != setup.signals:
            raise InvalidInput(
                f"signals are only added, after those there are {list(setup.signals)}, "
                f"got {list(wanted)}: keep them and add at the end"
            )
        asked["signals"] = wanted
    changed = checked(msgspec.structs.replace(setup, **asked))
    anew = any(getattr(changed, name) != getattr(setup, name) for name in READ_ANEW)
    return changed, anew


def keeping(old: Setup, new: Setup, now: int) -> Setup:
    """Let windows that have closed stay closed where they become longer: nothing is unlearnt."""
    return msgspec.structs.replace(
        new,
        kept_signal_windows=_kept(
            old.kept_signal_windows,
            (old.signal_window, new.signal_window),
            {old.signal_silence, new.signal_silence},
            now,
        ),
        kept_reward_windows=_kept(
            old.kept_reward_windows,
            (old.reward_window, new.reward_window),
            {old.reward_silence, new.reward_silence},
            now,
        ),
    )


def _kept(kept: Kept, windows: tuple[float, float], silences: set[Silence], now: int) -> Kept:
    if silences != {"default"}:
        return ()  # silence was no outcome, or is none any more
    old, new = windows
    last = now // GRID * GRID - round(old * 1e6)
    return tuple((upto, window) for upto, window in (*kept, (last, old)) if window < new)


def with_action(setup: Setup, action: str) -> Setup:
    """Add an action; a name is never used twice."""
    if action in setup.actions:
        raise Conflict(
            f"there is an action {action!r} already, and names are never reused: choose another"
        )
    return checked(
        msgspec.structs.replace(
            setup, actions=(*setup.actions, action), standing=(*setup.standing, "active")
        )
    )


def with_standing(setup: Setup, action: str, patch: ActionPatch) -> Setup:
    """Pause, resume or retire an action."""
    if action not in setup.actions:
        raise NotFound(str(UnknownName.of("action", action, setup.actions)))
    place = setup.actions.index(action)
    if setup.standing[place] == "retired" and patch.status != "retired":
        raise Conflict(f"the action {action!r} is retired, for good: add another")
    standing = list(setup.standing)
    standing[place] = patch.status
    return msgspec.structs.replace(setup, standing=tuple(standing))


def checked(setup: Setup) -> Setup:
    """Refuse a setup that cannot run; the policy is written in full."""
    for kind, names, most in (
        ("action", setup.actions, MOST_ACTIONS),
        ("signal", setup.signals, MOST_SIGNALS),
    ):
        if len(names) > most:
            raise InvalidInput(f"a campaign may have {most} {kind}s at most, got {len(names)}")
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise InvalidInput(f"each {kind} needs a name of its own, got {twice[0]!r} twice")
    if setup.signal_silence == "default" and setup.signals[0] != SILENT:
        raise InvalidInput(
            f"silence can become a signal only where {SILENT!r} is the first of them, "
            f"got {list(setup.signals)}: make another campaign"
        )
    spec = policy(setup.policy)
    if entry(spec).lab_only:
        raise InvalidInput(
            f"{spec.name} is told what nobody knows outside a simulation: choose another policy"
        )
    window = getattr(spec, "window", None)
    if window is not None and window > WIDEST_WINDOW:
        raise InvalidInput(
            f"a window may have {WIDEST_WINDOW} rounds at most here, got {window}: "
            f"take a smaller one, or none"
        )
    low, high = setup.reward_range
    RewardScale("bounded", low, high)
    if not low <= setup.default_reward <= high:
        raise InvalidInput(
            f"default_reward must lie in the reward_range [{low}, {high}], "
            f"got {setup.default_reward}: change one of them"
        )
    start(spec, Problem(len(setup.actions), len(setup.signals)))
    return msgspec.structs.replace(setup, policy=str(spec))


def _with_silence(signals: list[str], silence: str) -> tuple[str, ...]:
    """Put the silent signal first, where silence is an outcome."""
    if SILENT in signals[1:]:
        raise InvalidInput(
            f"signals are listed weakest first, and {SILENT!r} is the weakest: put it first"
        )
    if silence == "default" and signals[0] != SILENT:
        return (SILENT, *signals)
    return tuple(signals)
