"""The tree stays one in which a stranger finds the way: small files, unique names, plain words."""

from __future__ import annotations

import ast
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PYTHON = [
    *SOURCES,
    *(path for folder in ("tests", "benchmarks", "docs") for path in (ROOT / folder).rglob("*.py")),
]
TEXTS = [
    *SOURCES,
    *(path for folder in ("docs", "benchmarks") for path in (ROOT / folder).rglob("*.[mp][dy]")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")),
]
LONGEST_FILE = 400
LONGEST_SOURCE = 380
MEDIAN_FILE = 110
MOST_FILES = 521
"""About 210 were planned. There are more because a file holds one idea: the service has grown by
limits, budgets, evaluations, reports, corrected silence, a dashboard and tables of large campaigns,
and none of them was put into the file of another. A file that needs room under this limit takes the
place of one that holds no idea."""
LARGEST_FOLDER = 40
PRIVATE_WORDS = re.compile(
    r"(?<![a-z])(manner|standing|stands|stood|refold|anew|ahead|beside|worth|patience|punctual|tempo"
    r"|setups|told|story|proof|mail)(?![a-z])"
)
"""Words that this code once spoke of itself in, and that nobody would search for."""
KEPT_NAMES = {"told", "clock_ahead_seconds"}
"""`told` is a field of a policy's state, whose name is part of its fingerprint; the other is a
metric."""
OUTSIDE = re.compile(
    r"\.\./share[d]|(?<![\w.])share[d]/|/wor[k]/|/hom[e]/\w|/roo[t]/|(DESIGN|SERVICE|ALGORITHMS|STYLE)\.md"
)


@cache
def syntax_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def lines_of(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def docstrings(path: Path) -> list[tuple[str, str]]:
    """Return every docstring of a file, with the name of what it belongs to."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        (getattr(node, "name", path.name), ast.get_docstring(node))
        for node in ast.walk(syntax_of(path))
        if isinstance(node, kinds)
    ]
    return [(name, words) for name, words in found if words]


def test_no_file_is_too_long() -> None:
    long = {str(path.relative_to(ROOT)): lines_of(path) for path in PYTHON}
    assert {path: lines for path, lines in long.items() if lines > LONGEST_FILE} == {}
    long = {str(path.relative_to(ROOT)): lines_of(path) for path in SOURCES}
    assert {path: lines for path, lines in long.items() if lines > LONGEST_SOURCE} == {}


def test_files_are_small() -> None:
    assert statistics.median(map(lines_of, SOURCES)) <= MEDIAN_FILE


def test_there_are_not_too_many_files() -> None:
    assert len(SOURCES) <= MOST_FILES


def test_no_folder_is_crowded() -> None:
    folders = Counter(str(path.parent.relative_to(ROOT)) for path in SOURCES)
    assert {folder: count for folder, count in folders.items() if count > LARGEST_FOLDER} == {}


def test_a_public_class_has_a_name_of_its_own() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(syntax_of(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_a_docstring_is_plain_english() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in PYTHON
        for name, words in docstrings(path)
        if words.startswith(("Give ", "Gives ", "Tell whether ", "Tell how "))
    ]
    assert found == []


def defined_names(path: Path) -> Iterator[str]:
    """Yield the names of the classes and functions of a file, and of the variables it sets."""
    for node in ast.walk(syntax_of(path)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_names_are_words_of_the_trade() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        for name in {path.stem, *defined_names(path)} - KEPT_NAMES
        if PRIVATE_WORDS.search(name.lower())
    ]
    assert found == []


def test_nothing_points_outside_the_repository() -> None:
    found = [
        str(path.relative_to(ROOT)) for path in TEXTS if OUTSIDE.search(path.read_text("utf-8"))
    ]
    assert found == []
