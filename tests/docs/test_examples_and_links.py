"""The documents are true: their code runs, and their links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, SERVER, code_of, run_python
from tests.service.server_process import Server

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def blocks(page: Path) -> str:
    """Return the Python of a page that is no doctest and needs no server, as one script."""
    found = code_of(page, "python")
    return "\n".join(block for block in found if ">>>" not in block and SERVER not in block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_citation_is_in_the_bibliography() -> None:
    bibliography = (ROOT / "docs" / "references.bib").read_text("utf-8")
    known = set(re.findall(r"@\w+\{(\w+),", bibliography))
    cited: set[str] = set()
    for source in [*(ROOT / "src").rglob("*.py"), *PAGES]:
        cited |= set(re.findall(r"\[([A-Z][A-Za-z]+\d{4}[a-z]*)[,\]]", source.read_text("utf-8")))
    assert cited - known == set()


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/extending.md", "docs/tutorial/researcher.md"])
def test_the_code_of_a_page_runs(name: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    examples = ROOT / "docs" / "examples"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(examples)!r})\n{blocks(ROOT / name)}", "utf-8"
    )
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    assert "nsd-ucrl2" in ran.stdout


@pytest.mark.slow
def test_the_ten_lines_for_products_run_against_a_server(tmp_path: Path) -> None:
    (script,) = (block for block in code_of(ROOT / "README.md", "python") if SERVER in block)
    with Server(tmp_path) as server:
        run_python(server, tmp_path, script)
        counts = server.ask("GET", "/v1/campaigns/home-hero/report")[1]["counts"]
    assert (counts["decisions"], counts["signals"], counts["rewards"]) == (1, 1, 1)


def test_the_walks_of_the_architecture_pass_files_that_are_there() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|html))`", page))
    assert len(named) > 50
    source = ROOT / "src" / "foretell"
    assert [
        name for name in sorted(named) if not any((at / name).is_file() for at in (source, ROOT))
    ] == []
