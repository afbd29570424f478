"""Nothing is left out: every package, setting, route, policy, command and metric is documented."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click
import msgspec
import pytest

from foretell.cli import cli
from foretell.policies import policy_table
from foretell.service.engine import Engine
from foretell.service.http.export import COLUMNS
from foretell.service.http.metrics import Metrics
from foretell.service.http.routes import OPERATIONS
from foretell.service.model import events
from foretell.service.setting_info import known_settings
from foretell.worlds.changes import Changes
from foretell.worlds.delays import Delay
from foretell.worlds.rewards import RewardFamily
from foretell.worlds.scenario import Scenario
from foretell.worlds.theta_changes import ThetaChanges

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "foretell"


def packages() -> list[str]:
    """Return every package, as a path from the root."""
    found = [init.parent for init in SOURCE.rglob("__init__.py") if init.parent != SOURCE]
    return sorted(str(one.relative_to(ROOT)) for one in found)


def commands(prefix: str, group: click.Group) -> Iterator[str]:
    """Name every command, those of groups too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(f"{prefix} {name}", command)
        else:
            yield f"{prefix} {name}"


@pytest.mark.parametrize("package", packages())
def test_contributing_says_what_a_package_is_for(package: str) -> None:
    assert f"`{package}/`" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


@pytest.mark.parametrize("package", packages())
def test_a_package_says_what_it_is(package: str) -> None:
    assert re.match(r'"""\w[^"]+[.:]', (ROOT / package / "__init__.py").read_text("utf-8"))


@pytest.mark.parametrize("setting", known_settings().values(), ids=lambda one: one.name)
def test_a_setting_is_in_the_page_on_the_service(setting: Any) -> None:
    page = (DOCS / "live.md").read_text("utf-8")
    assert f"`{setting.flag}` | `{setting.variable}`" in page


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_a_route_is_in_the_reference(operation: Any) -> None:
    page = (DOCS / "reference" / "api.md").read_text("utf-8")
    path = operation.path.replace(":unit}", "}")
    assert f"`{operation.method} {path}`" in page


@pytest.mark.parametrize("command", list(commands("foretell", cli)))
def test_a_command_is_in_the_reference(command: str) -> None:
    page = (DOCS / "reference" / "commands.md").read_text("utf-8")
    assert re.search(rf"^## `{command}[ `]", page, flags=re.MULTILINE)


def test_every_key_of_a_scenario_is_in_the_page_on_studies() -> None:
    page = (DOCS / "studies.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (`.*?) \| (.*) \|$", page, flags=re.MULTILINE))
    keys = {key: text for names, text in rows.items() for key in re.findall(r"`(\w+)`", names)}
    assert {field.name for field in dataclasses.fields(Scenario)} <= set(keys)
    parts = {
        "changes": Changes,
        "theta_changes": ThetaChanges,
        "rewards": RewardFamily,
        "delay": Delay,
    }
    for key, kinds in parts.items():
        tags = [kind.__struct_config__.tag for kind in get_args(kinds)]
        assert tags, key
        missing = [tag for tag in tags if not re.search(rf'[`"]{tag}[`"]', keys[key])]
        assert missing == [], f"docs/studies.md does not name {missing} for {key}"


@pytest.mark.parametrize("name", [row.name for row in policy_table(shipped=True)])
def test_a_policy_has_a_page(name: str) -> None:
    assert (DOCS / "policies" / f"{name}.md").read_text("utf-8").startswith(f"# `{name}`")


def test_the_metrics_are_those_of_the_reference(tmp_path: Path) -> None:
    async def shown() -> str:
        engine = await Engine.open(tmp_path / "live.db", compiled=False)
        try:
            return (await Metrics(engine).text()).decode()
        finally:
            await engine.close()

    text = asyncio.run(shown())
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)", text, flags=re.MULTILINE))
    page = (DOCS / "reference" / "metrics.md").read_text("utf-8")
    named = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, flags=re.MULTILINE))
    assert named == kinds


LOG_STRUCTS = (*get_args(events.AnyEvent), events.CampaignConfig, events.Stage, events.Author)


@pytest.mark.parametrize("kind", LOG_STRUCTS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_record_is_explained(kind: type[msgspec.Struct]) -> None:
    """Each where its own kind is described, so that a name that another has does not count."""
    page = (ROOT / "docs" / "explanation" / "log-format.md").read_text("utf-8")
    events_part = page.partition("## Events")[2].partition("\n## ")[0]
    name = kind.__name__
    if kind in (events.CampaignConfig, events.Stage, events.Author):
        part = events_part.partition("### 0: Configured")[2].partition("\n### ")[0]
        if kind is events.CampaignConfig:
            part = part.partition("`config` has")[2].partition("A stage has")[0]
        elif kind is events.Stage:
            part = part.partition("A stage has")[2]
    elif f": {name}\n" in events_part:
        part = events_part.partition(f": {name}\n")[2].partition("\n### ")[0]
    else:
        (part,) = re.findall(rf"^\| \d+ \| {name}\b.*$", events_part, flags=re.MULTILINE)
    missing = [one for one in kind.__struct_fields__ if f"`{one}`" not in part]
    assert missing == [], f"{name} of docs/explanation/log-format.md does not name {missing}"


def test_every_column_of_the_export_is_explained_with_its_type() -> None:
    page = (ROOT / "docs" / "product" / "export.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, flags=re.MULTILINE)) == COLUMNS
