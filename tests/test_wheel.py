"""What is released: the wheel is whole, the sdist builds the same one, and each extra installs."""

from __future__ import annotations

import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.wheels import ROOT, TRIED, build, try_extra

NOT_FOR_USERS = {"dev", "docs"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src"
    files = (path for path in (source / "foretell").rglob("*") if path.is_file())
    ours = {
        path.relative_to(source).as_posix() for path in files if path.parent.name != "__pycache__"
    }
    with zipfile.ZipFile(wheel) as packed:
        held = {name for name in packed.namelist() if ".dist-info/" not in name}
    assert held == ours
    kinds = {Path(name).suffix for name in held}
    assert {".py", ".typed", ".html", ".css", ".js", ".sql"} <= kinds


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("foretell-*")
    again = build("wheel", unpacked, tmp_path / "wheel")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_what_is_said_about_the_package_is_that_of_the_project(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (one for one in packed.namelist() if one.endswith(".dist-info/METADATA"))
        said = Parser().parsestr(packed.read(name).decode())
    assert said["Version"] == project["version"]
    assert said.get_payload().startswith("# foretell")  # type: ignore[union-attr]
    extras = set(said.get_all("Provides-Extra") or ())
    assert extras == set(project["optional-dependencies"])
    assert set(TRIED) - {""} == extras - NOT_FOR_USERS


@pytest.mark.parametrize("extra", TRIED, ids=lambda extra: extra or "core")
def test_it_installs_into_an_empty_environment(wheel: Path, extra: str, tmp_path: Path) -> None:
    try_extra(wheel, extra, tmp_path)
