"""The generated tables of the documentation are what the code says."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from foretell.cli.spec_fields import spec_fields
from foretell.policies import policy_table, registered_policies
from foretell.service.log.chain import Chain
from foretell.service.log.record import StoredRow, record_of
from foretell.worlds.changes import Changes
from foretell.worlds.delays import Delay
from foretell.worlds.knots import Schedule
from foretell.worlds.rewards import RewardFamily
from foretell.worlds.theta_changes import ThetaChanges

DOCS = Path(__file__).parents[2] / "docs"


@cache
def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def all_tables() -> dict[str, tuple[Path, str]]:
    found: dict[str, tuple[Path, str]] = generator().tables()
    return found


PARAMETERS = [f"parameters of {row.name}" for row in policy_table(shipped=True)]


@pytest.mark.parametrize(
    "name",
    [
        "policies",
        "leaderboard",
        "settings",
        "commands",
        "routes",
        "record",
        "scenario parts",
        "live benchmarks",
        *PARAMETERS,
    ],
)
def test_a_generated_table_is_what_the_code_says(name: str) -> None:
    made, tables = generator(), all_tables()
    assert name in tables, "make it with make leaderboard"
    page, table = tables[name]
    text = page.read_text(encoding="utf-8")
    assert made.replaced(text, name, table) == text, "run python docs/generate.py"


def test_the_record_that_the_page_on_the_log_shows_can_be_read() -> None:
    page = (DOCS / "explanation" / "log-format.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- record -->")[2].partition("<!-- /record -->")[0]
    column = dict(re.findall(r"^\| `(\w+)` \| `?(-?\w+)`?", shown, flags=re.MULTILINE))
    body = bytes.fromhex(column["body"])
    seq, campaign, checksum = (int(column[name]) for name in ("seq", "campaign", "checksum"))
    row = StoredRow(seq, campaign, seq, body, checksum)
    assert record_of(row).event == generator().EXAMPLE
    chain = Chain()
    chain.add(row)
    assert f"`{chain.link.hex()}`" in shown
    pieces = re.findall(r"^\| `([0-9a-f ]+)` \|(?: `\w+`)? \|", shown, flags=re.MULTILINE)
    assert bytes.fromhex("".join(pieces)) == body


def test_every_policy_has_a_page_with_its_name() -> None:
    for row in policy_table(shipped=True):
        page = (DOCS / "policies" / f"{row.name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# `{row.name}`")


def test_what_is_cited_is_in_the_references() -> None:
    known = set(re.findall(r"@\w+\{(\w+),", (DOCS / "references.bib").read_text(encoding="utf-8")))
    sources = [*DOCS.glob("policies/*.md"), *(DOCS.parent / "src").rglob("*.py")]
    for source in sources:
        text = source.read_text(encoding="utf-8")
        for group in re.findall(r"\[((?:[A-Z][A-Za-z]+(?:19|20)\d\d\w*(?:, )?)+)[^\]]*\]", text):
            for key in re.findall(r"[A-Z][A-Za-z]+(?:19|20)\d\d\w*", group):
                assert key in known, f"{key} in {source.name}"


def test_every_part_of_a_scenario_has_a_table_in_which_each_field_has_a_meaning() -> None:
    shown = {type(one) for parts in generator().PARTS.values() for one in parts.values()}
    assert {
        *get_args(Changes),
        *get_args(ThetaChanges),
        *get_args(Delay),
        *get_args(RewardFamily),
        Schedule,
    } == shown
    for _, table in all_tables().values():
        assert not re.search(r"^\| `\w+` \|.*\|\s+\|$", table, flags=re.MULTILINE)


def test_every_field_of_a_policy_has_a_meaning() -> None:
    for name, entry in registered_policies().items():
        if name in {row.name for row in policy_table(shipped=True)}:
            assert all(field.meaning for field in spec_fields(entry.spec)), name
