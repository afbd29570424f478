"""A user's own study, from a TOML file: policies × scenarios × a grid of parameters.

    title = "Windows under delay"
    horizon = 8000
    runs = 50
    imports = ["ids.py"]
    policies = ["nsd-ucrl2(window={window})", "my-ids", "ucb"]

    [grid]
    window = [400, 800]
    delay = [100, 500]

    [[scenarios]]
    name = "paper"
    base = "paper"
    delay = "{delay}"

A word in braces stands for each value of the grid in turn. A scenario starts from a named one
(`base`, with its settings) or gives its own `law`, `theta` and the other fields of `Scenario`.
`imports` are files and modules of one's own that register policies and scenarios; files are looked
for from the folder of the study file on.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from foretell.errors import ForetellError, InvalidInput, UnknownName
from foretell.imports import import_all
from foretell.studies.grid import (
    check_words,
    combinations,
    nearest_word,
    scenario_of,
    specs_of,
)
from foretell.studies.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
    imports: list[str] = []


def read_study(path: Path) -> Study:
    """Read a study file; an error names its line and, for a wrong word, the nearest right one."""
    try:
        text = path.read_text("utf-8")
        plain = tomllib.loads(text)
    except FileNotFoundError:
        raise InvalidInput(f"there is no study file {str(path)!r}: check its name") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path.name} is not valid TOML: {error}") from None
    lines = _Lines(path.name, text)
    file = _checked(plain, lines)
    for one in file.imports:
        with lines.blamed(lines.of_text(one, lines.of_key("imports"))):
            import_all([one], path.parent)
    _check_words(file, lines)
    _check_uses(file, lines)
    return Study(
        file.policies,
        {
            str(table.get("name", table.get("base", f"scenario {number}"))): table
            for number, table in enumerate(file.scenarios, start=1)
        },
        file.grid,
        file.horizon,
        file.runs,
        file.seed,
        file.title,
        re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "study",
        log_scale=file.log_scale,
        about=f"From {path.name}, {file.horizon} rounds.",
    )


def _checked(plain: dict[str, Any], lines: _Lines) -> _File:
    """Check the keys and types of a file."""
    for key in plain:
        if key not in _File.__struct_fields__:
            with lines.blamed(lines.of_key(key)):
                raise UnknownName.of("key", key, _File.__struct_fields__)
    grid = plain.get("grid")
    for word, values in grid.items() if isinstance(grid, dict) else ():
        if not isinstance(values, list):
            with lines.blamed(lines.of_key(word, after=lines.of_key("grid"))):
                raise InvalidInput(
                    f"the word {word!r} of the grid needs a list of values, got {values!r}: "
                    f"put it in brackets"
                )
    try:
        file = msgspec.convert(plain, _File)
    except msgspec.ValidationError as error:
        keys = re.findall(r"\.(\w+)", str(error))
        with lines.blamed(lines.of_key(keys[0] if keys else "")):
            raise InvalidInput(str(error)) from None
    if not file.policies or not file.scenarios:
        raise InvalidInput(
            f"{lines.name} needs at least one policy and one [[scenarios]] table: add one"
        )
    names = [str(table.get("name", table.get("base", ""))) for table in file.scenarios]
    for number, name in enumerate(names):
        if name and name in names[:number]:
            with lines.blamed(lines.of_key("scenarios", number)):
                raise InvalidInput(
                    f"two scenarios are called {name!r}: give each a name of its own"
                )
    return file


def _check_words(file: _File, lines: _Lines) -> None:
    """Check that every word in braces is in the grid, and is used."""
    uses = [*file.policies, *file.scenarios]
    try:
        check_words(file.grid, uses)
    except UnknownName as error:
        if error.name in file.grid:
            line = lines.of_key(error.name, after=lines.of_key("grid"))
            raise InvalidInput(f"{lines.at(line)}: {error}") from None
        near = nearest_word(error.name, file.grid)
        where = "" if near is None else f" (line {lines.of_key(near, after=lines.of_key('grid'))})"
        line = lines.of_text(f"{{{error.name}}}", 1)
        raise InvalidInput(f"{lines.at(line)}: {error}{where}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{lines.at(lines.of_key('grid'))}: {error}") from None


def _check_uses(file: _File, lines: _Lines) -> None:
    """Make every policy and scenario once, so that an error names its line."""
    for printed in file.policies:
        with lines.blamed(lines.of_text(printed, lines.of_key("policies"))):
            specs_of(printed, file.grid)
    for number, table in enumerate(file.scenarios):
        with lines.blamed(lines.of_key("scenarios", number)):
            for values in combinations(file.grid, table):
                scenario_of(table, values).check(file.horizon)


class _Lines:
    """Finds the line of a file that an error is about."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._lines = text.splitlines()

    def at(self, line: int) -> str:
        """Say where a line is."""
        return f"{self.name}, line {line}"

    @contextmanager
    def blamed(self, line: int) -> Iterator[None]:
        """Put the line before an error; a wrong word is looked for from there on, then anywhere."""
        try:
            yield
        except UnknownName as error:
            found = self._of_word(error.name, line) or self._of_word(error.name, 1) or line
            raise InvalidInput(f"{self.at(found)}: {error}") from None
        except ForetellError as error:
            raise InvalidInput(f"{self.at(line)}: {error}") from None

    def of_key(self, key: str, skip: int = 0, *, after: int = 1) -> int:
        """Return the line of a key, or of the n-th table of that name."""
        pattern = re.compile(rf"(^|[{{,]|\[)\s*\"?{re.escape(key)}\"?\s*(=|\])")
        return self._first(pattern, after, skip) or after

    def of_text(self, text: str, after: int) -> int:
        """Return the line on which a text is, from a line on."""
        return self._first(re.compile(re.escape(text)), after) or after

    def _of_word(self, word: str, after: int) -> int | None:
        """Return the line on which a word is, by itself."""
        return self._first(re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])"), after)

    def _first(self, pattern: re.Pattern[str], after: int, skip: int = 0) -> int | None:
        for number, line in enumerate(self._lines, start=1):
            if number >= after and pattern.search(line):
                if skip == 0:
                    return number
                skip -= 1
        return None
