"""Importing a user's own files and modules, which register policies and scenarios."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_digests: dict[str, str] = {}
"""What each file held when it was imported, by module."""


def import_own(what: str, folder: Path | None = None) -> ModuleType:
    """Import a file (its name ends in .py) or a module, so that it registers what it holds.

    Files are looked for from `folder` on, by default the current one, and may import what is next
    to them. A file that has changed since is imported again.
    """
    base = (Path() if folder is None else folder).resolve()
    if what.endswith(".py"):
        return import_file(base / what)
    _search(base)
    try:
        return importlib.import_module(what)
    except ModuleNotFoundError as error:
        if not what.startswith(error.name or "-"):
            raise _failed(what, error) from error
        raise InvalidInput(
            f"there is no module {what!r} to import: install it, or name a file that ends in .py"
        ) from None
    except Exception as error:
        raise _failed(what, error) from error


def import_all(imports: Sequence[str], folder: Path | None = None) -> list[ModuleType]:
    """Import several files and modules, in order."""
    return [import_own(one, folder) for one in imports]


def import_file(path: Path, name: str | None = None) -> ModuleType:
    """Import a file as the module `name`, by default the file's own."""
    if not path.is_file():
        raise InvalidInput(f"there is no file {str(path)!r} to import: check its name")
    path = path.resolve()
    name = path.stem if name is None else name
    source = path.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    there = sys.modules.get(name)
    if there is not None and _digests.get(name) == digest and _is_from(there, path):
        return there
    _refuse_taken(name, path)
    _search(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101  its name ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Compiled here, not by its loader: that one takes bytecode of the same second and length.
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102
    except Exception as error:
        del sys.modules[name]
        raise _failed(path.name, error, path) from error
    _digests[name] = digest
    return module


def _is_from(module: ModuleType, path: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve() == path


def _refuse_taken(name: str, path: Path) -> None:
    """Refuse a file that would hide another module of its name."""
    there = sys.modules.get(name)
    if there is not None:
        taken = not _is_from(there, path)
    else:
        found = None if name.startswith("__") else importlib.util.find_spec(name)
        taken = found is not None and Path(found.origin or "").resolve() != path
    if taken:
        raise InvalidInput(
            f"cannot import {path.name}, because another module is called {name!r}: rename the file"
        )


def _search(folder: Path) -> None:
    """Let modules in a folder be found, after all others."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _failed(what: str, error: Exception, path: Path | None = None) -> InvalidInput:
    """Return what went wrong in a user's file, with the line of it."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if path is not None and frame.filename == str(path)
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    where = f", line {lines[-1]}" if lines else ""
    text = " ".join(str(error).split())
    return InvalidInput(f"cannot import {what}{where}: {type(error).__name__}: {text}: mend it")
