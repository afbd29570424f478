"""The generated tables of the documentation are what the code says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from foretell.policies import policy_table

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["policies", "leaderboard", "settings"])
def test_a_generated_table_is_what_the_code_says(name: str) -> None:
    made = generator()
    tables = made.tables()
    assert name in tables, "make it with make leaderboard"
    page, table = tables[name]
    text = page.read_text(encoding="utf-8")
    assert made.replaced(text, name, table) == text, "run python docs/generate.py"


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
