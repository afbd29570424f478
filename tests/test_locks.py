"""The lock of a server is a part of the whole lock, without development tools."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)(?: ; (.*?))? \\$")
DEPLOYED = ("serve", "client", "parquet", "postgres")


class Pinned(NamedTuple):
    version: str
    hashes: frozenset[str]


def pins(name: str) -> dict[str, Pinned]:
    """Read a lock."""
    found: dict[str, Pinned] = {}
    current = ""
    for line in (ROOT / name).read_text("utf-8").splitlines():
        pin = PIN.match(line)
        if pin:
            current = pin[1]
            found[current] = Pinned(pin[2], frozenset())
        elif "--hash=" in line:
            digest = line.strip(" \\").removeprefix("--hash=")
            assert digest.startswith("sha256:"), line
            found[current] = found[current]._replace(hashes=found[current].hashes | {digest})
        else:
            assert not line or line.lstrip().startswith("#"), line
    return found


def named(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9_.-]", one)[0].lower().replace("_", "-") for one in requirements}


def extras() -> dict[str, set[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {
        "": named(project["dependencies"]),
        **{name: named(listed) for name, listed in project["optional-dependencies"].items()},
    }


def test_the_lock_of_a_server_is_a_part_of_the_whole_lock() -> None:
    whole, serve = pins("requirements.lock"), pins("requirements-serve.lock")
    assert len(serve) > 10
    assert all(one.hashes for one in serve.values())
    assert {name: whole.get(name) for name in serve} == serve


def test_it_holds_all_that_a_server_needs_and_no_development_tool() -> None:
    serve, declared = set(pins("requirements-serve.lock")), extras()
    needed = declared[""].union(*(declared[extra] for extra in DEPLOYED))
    assert needed <= serve
    others = set().union(*(declared[extra] for extra in declared if extra not in (*DEPLOYED, "")))
    assert not (others - needed) & serve


def test_no_lock_names_an_index() -> None:
    for name in ("requirements.lock", "requirements-serve.lock"):
        text = (ROOT / name).read_text("utf-8")
        assert not re.search(r"https?://|file:|--index|--find-links|--extra", text), name
