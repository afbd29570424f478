"""The tutorial for product teams is true: what it types works, and prints what it shows."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, Step, run_shell, steps_of
from tests.service.server_process import Server

PAGE = DOCS / "tutorial" / "product-team.md"
NEXT_STEP = "-- the next step --"
BY_CHANCE = {
    r"ftk_[\w-]{43}": "KEY",
    r"http://[\w.]+:\d+": "URL",
    r"\d{4}-\d\d-\d\dT[\d:.]+Z": "TIME",
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ [A-Z][a-z]{2}": "DAY",
    r"AAAA[\w-]{50,}": "DECISION",
    r'"[0-9a-f]{16}"': '"EVENT"',
    r"0\.\d{2,}": "SHARE",
    r"\b(editorial-pick|new-arrivals|sale)\b": "ACTION",
}
"""What differs from one reader to the next: ids, times, and what was drawn."""

pytestmark = pytest.mark.slow


def without_chance(text: str, kind: str) -> str:
    """Return an output with a word for all that differs; JSON in one form, however wrapped."""
    text = json.dumps(json.loads(text), indent=1) if kind == "json" else text.strip()
    for pattern, word in BY_CHANCE.items():
        text = re.sub(pattern, word, text)
    return text


def script_of(steps: list[Step]) -> str:
    """Return the steps as one script, in which all Python runs in one session."""
    lines = []
    for number, step in enumerate(steps):
        begins = number == 0 or steps[number - 1].kind != step.kind
        ends = number == len(steps) - 1 or steps[number + 1].kind != step.kind
        if step.kind == "python":
            begun = ["python - <<'END'"] if begins else []
            ended = ["END"] if ends else []
            lines += [*begun, f"print({NEXT_STEP!r}, flush=True)", step.code, *ended]
        else:
            lines += [f"echo '{NEXT_STEP}'", step.code]
    return "\n".join(lines)


def first_words(server: Server) -> str:
    """Return what the service prints at its first start, and take the key from it."""
    assert server.process.stdout is not None
    while "curl" not in server.said:
        server.said += server.process.stdout.readline()
    server.key = server.said.partition("export KEY=")[2].partition("\n")[0]
    return server.said


def test_every_step_prints_what_the_page_shows(tmp_path: Path) -> None:
    steps = steps_of(PAGE)
    (start,) = (step for step in steps if step.code == "make serve\n")
    typed = [step for step in steps if step.kind in {"sh", "python"}]
    with Server(tmp_path, FORETELL_ADMIN_KEY="") as server:
        printed = [first_words(server)]
        said = run_shell(server, tmp_path, script_of(typed))
    printed += said.split(f"{NEXT_STEP}\n")[1:]
    shown = [start, *typed]
    assert sum(bool(step.shown) for step in shown) >= 8
    for step, output in zip(shown, printed, strict=True):
        came = without_chance(output, step.shown_kind) if step.shown else output.strip()
        assert came == (without_chance(step.shown, step.shown_kind) if step.shown else "")


def test_make_does_what_the_page_says() -> None:
    """Its targets start the commands that the test above, and that of the dashboard, start."""
    named = re.findall(r"^make ([\w-]+)$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert named == ["demo-live", "serve"]
    for target in named:
        command = ["make", "--dry-run", target]
        started = subprocess.check_output(command, text=True, cwd=ROOT)
        assert f".venv/bin/foretell {target}" in started
