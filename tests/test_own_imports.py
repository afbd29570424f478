"""Files and modules of one's own: how they are imported, and how their errors help."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import foretell as ft
from foretell import plugins
from foretell.errors import InvalidInput, UnknownName
from foretell.imports import import_own
from foretell.worlds import catalogue

POLICY = """
from dataclasses import dataclass
import numpy as np
import foretell as ft
from foretell.policies.uniform import UniformState
from foretell.policies.verbs import begin

@ft.register("{name}")
@dataclass(frozen=True)
class Mine(ft.Spec):
    '''Play at random.'''

    level: float = {level}

@begin.register(Mine)
def _begin(spec, problem):
    return UniformState(np.zeros(problem.actions))
"""
WORLD = """
import foretell as ft

@ft.register_scenario("{name}", horizon=300)
def my_world(delay: int = 5) -> ft.Scenario:
    '''A world of one's own.

    And more about it.
    '''
    return ft.scenario("paper-stationary", delay=delay)
"""


@pytest.fixture(autouse=True)
def _nothing_stays(own_registry: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a test imports and registers."""
    monkeypatch.setattr(catalogue, "_SCENARIOS", dict(catalogue._SCENARIOS))
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("own_"):
            del sys.modules[name]


def test_a_file_registers_its_policy_and_is_imported_again_when_it_has_changed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "own_file.py"
    file.write_text(POLICY.format(name="own-file", level=1.0), "utf-8")
    first = import_own("own_file.py", tmp_path)
    assert str(ft.policy("own-file")) == "own-file(level=1.0)"
    assert import_own(str(file)) is first
    file.write_text(POLICY.format(name="own-file", level=2.5), "utf-8")
    assert import_own("own_file.py", tmp_path) is not first
    assert str(ft.policy("own-file")) == "own-file(level=2.5)"


def test_a_file_may_import_what_is_next_to_it_and_both_are_in_the_provenance(
    tmp_path: Path,
) -> None:
    (tmp_path / "own_helper.py").write_text("LEVEL = 1.0\n", "utf-8")
    text = "from own_helper import LEVEL\n" + POLICY.format(name="own-two", level="LEVEL")
    (tmp_path / "own_main.py").write_text(text, "utf-8")
    import_own("own_main.py", tmp_path)
    run = ft.simulate(ft.scenario("paper-stationary"), "own-two", 10, 1, compiled=False)
    before = run.provenance
    assert {"own_main.py", "own_helper.py"} <= set(before)
    assert "own_helper.py" not in ft.simulate(run.scenario, "ucb", 10, 1, compiled=False).provenance
    (tmp_path / "own_helper.py").write_text("LEVEL = 1.0  # edited\n", "utf-8")
    after = ft.simulate(run.scenario, "own-two", 10, 1, compiled=False).provenance
    assert {key for key in after if after[key] != before[key]} == {"own_helper.py"}


def test_a_module_of_a_package_is_imported_with_its_parts(tmp_path: Path) -> None:
    package = tmp_path / "own_package"
    package.mkdir()
    (package / "__init__.py").write_text("", "utf-8")
    (package / "parts.py").write_text("LEVEL = 3.0\n", "utf-8")
    text = "from .parts import LEVEL\n" + POLICY.format(name="own-packed", level="LEVEL")
    (package / "policy.py").write_text(text, "utf-8")
    import_own("own_package.policy", tmp_path)
    run = ft.simulate(ft.scenario("paper-stationary"), "own-packed", 10, 1, compiled=False)
    own = {name for name in run.provenance if name.startswith("own_package")}
    assert own == {f"own_package/{name}.py" for name in ("__init__", "parts", "policy")}


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("own_wrong.py", "import foretell\nx = 1 / 0\n", "own_wrong.py, line 2: ZeroDivisionError"),
        ("own_syntax.py", "\n\nif\n", "cannot import own_syntax.py, line 3: SyntaxError"),
        ("statistics.py", "", "another module is called 'statistics': rename the file"),
        ("own_taken.py", POLICY.format(name="ucb", level=1.0), "the policy name 'ucb' is taken"),
    ],
)
def test_an_error_in_a_file_names_it_and_its_line(
    tmp_path: Path, name: str, text: str, sentence: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InvalidInput) as error:
        import_own(name, tmp_path)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"there is no file .*own_nothing.py' to import"):
        import_own("own_nothing.py", tmp_path)
    with pytest.raises(InvalidInput, match=r"there is no module 'own_nothing.here' to import"):
        import_own("own_nothing.here", tmp_path)


def test_a_scenario_of_ones_own_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "own_world.py").write_text(WORLD.format(name="my-world"), "utf-8")
    import_own("own_world.py", tmp_path)
    assert ft.scenario("my-world", delay=7) == ft.scenario("paper-stationary", delay=7)
    assert ft.scenarios()["my-world"] == "A world of one's own"
    with pytest.raises(UnknownName, match=r"no setting 'dealy' .* did you mean 'delay'"):
        ft.scenario("my-world", dealy=7)
    for taken in ("paper", "besson-1"):
        with pytest.raises(InvalidInput, match=f"the scenario name '{taken}' is taken"):
            ft.register_scenario(taken)(lambda: ft.scenario("paper"))
    with pytest.raises(InvalidInput, match="lower-case words joined by dashes"):
        ft.register_scenario("My World")


def test_installed_packages_bring_policies_and_scenarios(tmp_path: Path) -> None:
    (tmp_path / "own_plugin.py").write_text(POLICY.format(name="own-plugin", level=1.0), "utf-8")
    text = WORLD.replace('@ft.register_scenario("{name}", horizon=300)', "")
    (tmp_path / "own_worlds.py").write_text(text, "utf-8")
    (tmp_path / "own_broken.py").write_text("raise ValueError('broken')\n", "utf-8")
    info = tmp_path / "own_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[foretell.policies]\nown-plugin = own_plugin\nbroken = own_broken\n"
        "[foretell.scenarios]\nplugged-world = own_worlds:my_world\n"
    )
    sys.path.append(str(tmp_path))
    importlib.invalidate_caches()
    plugins.load_plugins.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match=r"'broken' .* of own-plugin cannot be loaded"):
            assert str(ft.policy("own-plugin")) == "own-plugin(level=1.0)"
        assert "own-plugin" in ft.registered_policies()
        assert ft.scenario("plugged-world", delay=3) == ft.scenario("paper-stationary", delay=3)
        assert ft.scenarios()["plugged-world"] == "A world of one's own"
    finally:
        plugins.load_plugins.cache_clear()
