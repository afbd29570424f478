"""Tools from npm, installed once into the user's cache: the versions are those of tests/node."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import platformdirs

PINNED = Path(__file__).parent / "node"
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}


@cache
def node_modules() -> Path:
    """Return the folder of the packages, which are installed where they are not there yet."""
    digest = hashlib.sha256((PINNED / "package-lock.json").read_bytes()).hexdigest()[:16]
    cached = platformdirs.user_cache_path("foretell", appauthor=False) / f"node-{digest}"
    if not cached.is_dir():
        cached.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=cached.parent))
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PINNED / name, made)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        subprocess.run(command, cwd=made, check=True, capture_output=True, timeout=600)
        try:
            made.rename(cached)
        except OSError:  # another process was first
            shutil.rmtree(made)
    return cached / "node_modules"


def run_tool(name: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of a package to its end."""
    return subprocess.run(
        [str(node_modules() / ".bin" / name), *arguments],
        cwd=cwd,
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
