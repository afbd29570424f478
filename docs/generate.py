"""Make the generated tables of the documentation again: `python docs/generate.py`.

A table stands between two marks, `<!-- name -->` and `<!-- /name -->`; the text around it is
written by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

from foretell.policies import policy_markdown
from foretell.service.settings import settings_markdown
from foretell.studies.leaderboard.board import load_leaderboard
from foretell.studies.leaderboard.report import leaderboard_markdown

DOCS = Path(__file__).parent


def tables() -> dict[str, tuple[Path, str]]:
    """Return every generated table by the name of its marks, with its page."""
    made = {
        "policies": (DOCS / "policies" / "index.md", policy_markdown()),
        "settings": (DOCS / "live.md", settings_markdown()),
    }
    if (DOCS / "leaderboard.json").is_file():
        made["leaderboard"] = (
            DOCS / "leaderboard.md",
            leaderboard_markdown(load_leaderboard(DOCS)),
        )
    return made


def replaced(text: str, name: str, table: str) -> str:
    """Put the table between its marks."""
    first, last = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if first not in text or last not in text:
        raise SystemExit(f"the page has no marks {first.strip()} and {last}: put them in")
    before, after = text.split(first, maxsplit=1)[0], text.split(last)[1]
    return f"{before}{first}\n{table}\n{last}{after}"


def main() -> None:
    """Write every page whose table has changed."""
    for name, (page, table) in tables().items():
        text = page.read_text(encoding="utf-8")
        fresh = replaced(text, name, table)
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
            print(f"made {page.name} again")


if __name__ == "__main__":
    sys.exit(main())
