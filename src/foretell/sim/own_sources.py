"""The files of a user's own policy: those that define it, and those of theirs that these import.

Results of an own policy are named by the digests of these files, and a cluster's workers are sent
them. What is installed as a package of its own (NumPy, for instance) is not followed.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.policies import start
from foretell.policies.verbs import COMPILED, begin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from foretell.policies import Spec
    from foretell.worlds.scenario import Scenario

OURS = "foretell"


def own_modules(spec: Spec, scenario: Scenario, horizon: int) -> tuple[str, ...]:
    """Return the modules of a user's own that define a policy: its spec, its state, its verbs."""
    if _is_ours(type(spec).__module__):
        return ()
    state = type(start(spec, scenario.problem(horizon)))
    parts = [type(spec), state, begin.dispatch(type(spec))]
    parts += [verb.dispatch(state) for verb in COMPILED]
    return tuple(dict.fromkeys(one.__module__ for one in parts if not _is_ours(one.__module__)))


def own_digests(spec: Spec, scenario: Scenario, horizon: int) -> dict[str, str] | None:
    """Return the digest of each file of a user's own policy, none for ours; None as below."""
    modules = own_modules(spec, scenario, horizon)
    files = own_files(modules) if modules else {}
    if files is None:
        return None
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in files.items()
    }


def own_files(modules: Iterable[str]) -> dict[str, Path] | None:
    """Return the files of modules and of what they import next to them, by relative path.

    None where there is no file to read, as for a policy that was typed into a notebook.
    """
    found: dict[str, Path] = {}
    for name in modules:
        origin = getattr(sys.modules.get(name), "__file__", None)
        if origin is None or not Path(origin).is_file():
            return None
        file = Path(origin).resolve()
        root = _root(name, file)
        waiting = [file, *_named(root, name)]
        while waiting:
            path = waiting.pop()
            relative = path.relative_to(root).as_posix()
            if relative in found:
                continue
            found[relative] = path
            for imported in _imports(path, relative):
                if root not in _libraries() or imported.split(".")[0] == name.split(".")[0]:
                    waiting += _named(root, imported)
    return dict(sorted(found.items()))


def _is_ours(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == OURS


def _root(module: str, file: Path) -> Path:
    """Return the folder from which a module is imported by its name."""
    levels = module.count(".") + (file.name == "__init__.py")
    return file.parents[levels]


@cache
def _libraries() -> frozenset[Path]:
    """Return the folders of installed packages."""
    return frozenset(Path(path).resolve() for path in sysconfig.get_paths().values())


def _named(root: Path, module: str) -> Iterator[Path]:
    """Yield the files under `root` that importing a module loads: its packages and itself."""
    words = module.split(".")
    if words[0] == OURS:
        return
    for count in range(1, len(words) + 1):
        place = root.joinpath(*words[:count])
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                yield file


def _imports(path: Path, relative: str) -> tuple[str, ...]:
    status = path.stat()
    return _read_imports(path, relative, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1000)
def _read_imports(path: Path, relative: str, _mtime: int, _size: int) -> tuple[str, ...]:
    """Return the modules that a file imports, wherever in it."""
    package = relative.split("/")[:-1]
    names = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            names += [f"{module}.{one.name}" if module else one.name for one in node.names]
    return tuple(dict.fromkeys(names))
