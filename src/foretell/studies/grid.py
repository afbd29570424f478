"""The grid of a study: words that stand for each of their values in turn.

A word is written in braces, in a text or anywhere in a table of texts, or it is a parameter of a
function.

>>> [filled("sw-ucb(window={w})", values) for values in combinations({"w": [5, 9]}, "{w}")]
['sw-ucb(window=5)', 'sw-ucb(window=9)']
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from foretell.errors import InvalidInput, UnknownName, near_miss
from foretell.policies import Spec, policy
from foretell.worlds import Scenario, scenario
from foretell.worlds.scenario import read_tagged
from foretell.worlds.theta_changes import ThetaChanges

Grid: TypeAlias = Mapping[str, Sequence[Any]]
Values: TypeAlias = dict[str, Any]

PolicyUse: TypeAlias = "str | Spec | Callable[..., str | Spec]"
"""A policy of a study: its text, a spec, or a function of words of the grid."""
ScenarioUse: TypeAlias = "str | Scenario | Mapping[str, Any] | Callable[..., Scenario]"
"""A scenario of a study: its name, a scenario, a table as in a study file, or a function."""


def words_in(use: Any) -> list[str]:
    """Return the words that a policy, a scenario or a part of it uses.

    >>> words_in({"base": "paper", "delay": ["{delay}", 5]}), words_in(lambda window: window)
    (['delay'], ['window'])
    """
    if isinstance(use, str):
        return re.findall(r"\{(\w+)\}", use)
    if isinstance(use, Mapping):
        return [word for value in use.values() for word in words_in(value)]
    if isinstance(use, (list, tuple)):
        return [word for value in use for word in words_in(value)]
    if _is_function(use):
        return list(inspect.signature(use).parameters)
    return []


def check_words(grid: Grid, uses: Iterable[Any]) -> None:
    """Refuse a use of a word that the grid does not have, and a word that nobody uses."""
    used = [word for use in uses for word in words_in(use)]
    for word in used:
        if word not in grid:
            raise unknown_word(word, grid)
    for word, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InvalidInput(
                f"the word {word!r} of the grid needs a list of values, got {values!r}"
            )
        if word not in used:
            raise _unused_word(word)


def unknown_word(word: str, grid: Grid) -> UnknownName:
    """Return the error of a word that the grid does not have."""
    if grid:
        return UnknownName.of("word", word, grid, "in the grid")
    error = UnknownName(f"there is no grid for the word {word!r}: add one that lists its values")
    error.name = word
    return error


def _unused_word(word: str) -> UnknownName:
    error = UnknownName(
        f"no policy and no scenario uses the word {word!r} of the grid: "
        f"write {{{word}}} where its values belong, or drop it"
    )
    error.name = word
    return error


def nearest_word(word: str, grid: Grid) -> str | None:
    """Return the word of the grid that is nearest to one that is not there."""
    return near_miss(word, list(grid))


def combinations(grid: Grid, use: Any) -> list[Values]:
    """Return every combination of the values of the words in `use`."""
    used = words_in(use)
    words = [word for word in grid if word in used]
    return [
        dict(zip(words, values, strict=True))
        for values in itertools.product(*(grid[word] for word in words))
    ]


def filled(use: Any, values: Values) -> Any:
    """Replace words in braces by values; a text that is one word becomes the value."""
    if isinstance(use, str):
        for word, value in values.items():
            if use == f"{{{word}}}":
                return value
            use = use.replace(f"{{{word}}}", str(value))
        return use
    if isinstance(use, Mapping):
        return {key: filled(value, values) for key, value in use.items()}
    if isinstance(use, (list, tuple)):
        return [filled(value, values) for value in use]
    return use


def specs_of(use: PolicyUse, grid: Grid, fixed: Values | None = None) -> list[Spec]:
    """Return the specs that one policy of a study stands for; `fixed` words have one value."""
    specs = []
    for values in combinations(grid, use):
        chosen = values | {word: value for word, value in (fixed or {}).items() if word in values}
        specs.append(policy(_made(use, chosen)))
    return list(dict.fromkeys(specs))


def scenario_of(use: ScenarioUse, values: Values) -> Scenario:
    """Return the scenario that one scenario of a study stands for, with these values."""
    made = _made(use, values)
    if isinstance(made, str):
        return scenario(made)
    if isinstance(made, Mapping):
        return _scenario_of_table(dict(made))
    if not isinstance(made, Scenario):
        raise InvalidInput(
            f"a scenario of a study is a name, a Scenario, a table or a function that makes one, "
            f"got {made!r}"
        )
    return made


def _made(use: Any, values: Values) -> Any:
    """Call a function with the values, or fill them in."""
    return use(**values) if _is_function(use) else filled(use, values)


def _is_function(use: Any) -> bool:
    return callable(use) and not isinstance(use, (Spec, Scenario))


def _scenario_of_table(table: dict[str, Any]) -> Scenario:
    """Read a scenario from a table: fields of its own, or those set in a named one (`base`)."""
    fields = {key: value for key, value in table.items() if key not in ("name", "base")}
    if "base" not in table:
        return Scenario.from_dict(fields)
    if isinstance(fields.get("mu"), list):
        fields["mu"] = tuple(fields["mu"])
    if isinstance(fields.get("delay"), dict) or isinstance(fields.get("changes"), dict):
        parts: dict[str, Any] = {key: fields[key] for key in ("delay", "changes") if key in fields}
        read = Scenario.from_dict({"law": [[1, 0], [0, 1]], "theta": [0, 1], **parts})
        fields |= {key: getattr(read, key) for key in parts}
    if "theta_changes" in fields:
        fields["theta_changes"] = read_tagged("pattern", fields["theta_changes"], ThetaChanges)
    return scenario(str(table["base"]), **fields)
