"""A user's own study, from a TOML file: policies × scenarios × a grid of parameters.

    title = "Windows under delay"
    horizon = 8000
    runs = 50
    policies = ["nsd-ucrl2(window={window})", "ucb"]

    [grid]
    window = [400, 800]
    delay = [100, 500]

    [[scenarios]]
    name = "paper"
    base = "paper"
    delay = "{delay}"

A word in braces stands for each value of the grid in turn. A scenario starts from a named one
(`base`, with its settings) or gives its own `law`, `theta` and the other fields of `Scenario`.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from foretell.errors import ForetellError, InvalidInput, UnknownName
from foretell.policies import Spec, policy
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.legend import short_labels
from foretell.studies.study import Panel, Study
from foretell.worlds import Scenario, scenario
from foretell.worlds.scenario import read_tagged
from foretell.worlds.theta_changes import ThetaChanges

if TYPE_CHECKING:
    from pathlib import Path

    from foretell.studies.study import Results

SIDE_BY_SIDE = 3


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """What a study file may hold."""

    horizon: int
    policies: list[str]
    scenarios: list[dict[str, Any]]
    title: str = "A study"
    runs: int = 50
    seed: int = 0
    log_scale: bool = False
    grid: dict[str, list[Any]] = {}


@dataclass(frozen=True)
class OwnStudy:
    """A study with the runs and the seed that its file asks for."""

    study: Study
    runs: int
    seed: int


def read_study(path: Path) -> OwnStudy:
    """Read a study file; an error names its line and, for a wrong key, the nearest right one."""
    try:
        text = path.read_text("utf-8")
        plain = tomllib.loads(text)
    except FileNotFoundError:
        raise InvalidInput(f"there is no study file {str(path)!r}: check its name") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path.name} is not valid TOML: {error}") from None
    for key in plain:
        if key not in _File.__struct_fields__:
            unknown = UnknownName.of("key", key, _File.__struct_fields__)
            raise InvalidInput(f"{path.name}, line {_line(text, key)}: {unknown}")
    try:
        file = msgspec.convert(plain, _File)
    except msgspec.ValidationError as error:
        key = (re.findall(r"\$\.(\w+)", str(error)) or [""])[0]
        raise InvalidInput(f"{path.name}, line {_line(text, key)}: {error}") from None
    if not file.policies or not file.scenarios:
        raise InvalidInput(
            f"{path.name} needs at least one policy and one [[scenarios]] table: add one"
        )
    panels = tuple(_panels(path.name, text, file))
    study = Study(
        re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "study",
        file.title,
        f"{len(panels)} scenarios of {file.horizon} rounds, from {path.name}.",
        panels,
        lambda results: _charts(file, results),
    )
    return OwnStudy(study, file.runs, file.seed)


def _panels(file_name: str, text: str, file: _File) -> list[Panel]:
    panels: dict[str, Panel] = {}
    for number, table in enumerate(file.scenarios):
        for values in _combinations(file.grid, table):
            where = f"{file_name}, line {_line(text, 'scenarios', number)}"
            name = str(table.get("name", table.get("base", f"scenario {number + 1}")))
            shown = ", ".join(f"{word} = {value}" for word, value in values.items())
            try:
                made = _scenario(_filled(table, values))
                made.check(file.horizon)
            except UnknownName as error:
                line = _line(text, error.name, after=_line(text, "scenarios", number))
                raise InvalidInput(f"{file_name}, line {line}: {error}") from None
            except ForetellError as error:
                raise InvalidInput(f"{where}: {error}") from None
            title = f"{name}, {shown}" if shown else name
            specs = _specs(file_name, text, file, values)
            panels[title] = Panel(title, made, specs, file.horizon)
    return list(panels.values())


def _specs(file_name: str, text: str, file: _File, fixed: dict[str, Any]) -> tuple[Spec, ...]:
    specs: dict[Spec, None] = {}
    for printed in file.policies:
        for values in _combinations(file.grid, printed):
            try:
                specs[policy(_filled(printed, values | fixed))] = None
            except ForetellError as error:
                line = _line(text, "policies")
                raise InvalidInput(f"{file_name}, line {line}: {error}") from None
    return tuple(specs)


def _scenario(table: dict[str, Any]) -> Scenario:
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


def _combinations(grid: dict[str, list[Any]], use: object) -> list[dict[str, Any]]:
    """Return every combination of the grid's words that `use` holds in braces."""
    words = [word for word in grid if f"{{{word}}}" in str(use)]
    return [
        dict(zip(words, values, strict=True))
        for values in itertools.product(*(grid[word] for word in words))
    ]


def _filled(use: Any, values: dict[str, Any]) -> Any:
    """Replace words in braces by values; a text that is one word becomes the value."""
    if isinstance(use, str):
        for word, value in values.items():
            if use == f"{{{word}}}":
                return value
            use = use.replace(f"{{{word}}}", str(value))
        return use
    if isinstance(use, dict):
        return {key: _filled(value, values) for key, value in use.items()}
    if isinstance(use, list):
        return [_filled(value, values) for value in use]
    return use


def _line(text: str, key: str, skip: int = 0, *, after: int = 1) -> int:
    """Return the line on which a key, a value or the n-th table of that name stands."""
    pattern = re.compile(
        rf"(^|[{{,]|\[)\s*\"?{re.escape(key)}\"?\s*(=|\])|=\s*\"{re.escape(key)}\""
    )
    for number, line in enumerate(text.splitlines(), start=1):
        if number >= after and pattern.search(line):
            if skip == 0:
                return number
            skip -= 1
    return after


def _charts(file: _File, results: Results) -> list[Chart]:
    names = list(results)
    groups = [names[i : i + SIDE_BY_SIDE] for i in range(0, len(names), SIDE_BY_SIDE)]
    return [
        Chart(
            f"figure-{number}",
            file.title if len(groups) == 1 else f"{file.title} ({number} of {len(groups)})",
            "Mean regret with 95 % bands. Dotted lines are the change points.",
            tuple(
                regret_axes(
                    name, results[name], _changes(results, name), short_labels(results[name])
                )
                for name in group
            ),
            log_y=file.log_scale,
        )
        for number, group in enumerate(groups, start=1)
    ]


def _changes(results: Results, name: str) -> tuple[int, ...]:
    """Return the change points that are the same in every run."""
    made = next(iter(results[name].values())).scenario
    when = getattr(made.changes, "when", None)
    listed: tuple[int, ...] = (when.at or ()) if when is not None else ()
    return listed or tuple(first for first, _ in made.segments[1:])
