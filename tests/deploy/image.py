"""The image of deploy/Dockerfile, made and run without a container runtime.

Its steps are carried out one after the other in file systems that are empty but for what stands
for the base image: this machine's own programs and Python, mounted where nobody can change them.
A user namespace makes that possible without any rights: who runs the tests as root gives them up
first. What Docker itself does (layers, registries, cgroups) is not tried.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.deploy.tools import DEPLOY, ROOT

NOBODY = 65534
BASE = ("usr", "bin", "sbin", "lib", "lib64", "etc", "dev", "proc")
"""Folders of this machine that stand for the base image."""
PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where the base image has its Python."""
ENTER = """
set -e
root=$1; rights=$2; directory=$3; shift 3
mount --bind "$root" "$root"
if [ "$rights" = none ]; then
  mount --bind "$root/var/lib/foretell" "$root/var/lib/foretell"
  mount -o remount,bind,ro "$root"
  mount -t tmpfs none "$root/tmp"
fi
for one in $BASE_FOLDERS; do [ ! -e "/$one" ] || mount --rbind "/$one" "$root/$one"; done
cd "$root"
chroot=$(PATH="$PATH:/usr/sbin:/sbin"; command -v chroot)
if [ "$rights" = none ]; then
  exec "$chroot" . setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \\
    sh -c 'cd "$1"; shift; exec "$@"' enter "$directory" "$@"
fi
exec "$chroot" . sh -c 'cd "$1"; shift; exec "$@"' enter "$directory" "$@"
"""


def _without_rights() -> list[str]:
    """Return what gives up the rights of root, where there are any."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


NAMESPACE = [*_without_rights(), "unshare", "--user", "--map-root-user", "--mount"]


def can_be_made_here() -> bool:
    """Return whether people without rights may have file systems and a Python of their own."""
    python = [
        "env",
        f"PATH={PATH}",
        "python3",
        "-c",
        "import ensurepip, sys; assert sys.version_info >= (3, 11)",
    ]
    return subprocess.run([*NAMESPACE, *python], capture_output=True, check=False).returncode == 0


class Step(NamedTuple):
    """One instruction of a Dockerfile."""

    verb: str
    rest: str

    @property
    def words(self) -> list[str]:
        """Its arguments, which may be a JSON list."""
        listed = json.loads(self.rest) if self.rest.startswith("[") else shlex.split(self.rest)
        return [str(one) for one in listed]


def steps_of(text: str) -> list[Step]:
    """Return the instructions of a Dockerfile."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    whole = re.sub(r"\\\n\s*", " ", lines)
    return [Step(*line.split(maxsplit=1)) for line in whole.splitlines() if line.strip()]


class Image:
    """The last stage of a Dockerfile: its files, and how it is run."""

    def __init__(self, folder: Path, dockerfile: Path = DEPLOY / "Dockerfile") -> None:
        """Carry out every step, in a folder that nobody has written to."""
        self._folder = folder
        self._stages: dict[str, Path] = {}
        self.root = folder
        self.directory = "/"
        self.environment = {"PATH": PATH}
        self.user = "0:0"
        self.entrypoint: list[str] = []
        self.command: list[str] = []
        self.health: list[str] = []
        for step in steps_of(dockerfile.read_text("utf-8")):
            getattr(self, f"_{step.verb.lower()}")(step)

    def run(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        """Run a command as the image would: without rights, and nothing to write but its volume."""
        return self._enter("none", command, self.environment | variables)

    def _enter(
        self, rights: str, command: Sequence[str], variables: dict[str, str]
    ) -> subprocess.Popen[str]:
        enter = ["sh", "-c", ENTER, "enter", str(self.root), rights, self.directory, *command]
        return subprocess.Popen(
            [*NAMESPACE, *enter],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=variables | {"BASE_FOLDERS": " ".join(BASE)},
        )

    def _from(self, step: Step) -> None:
        assert step.rest.startswith("python:3."), "another base than the one that stands for it"
        name = step.rest.partition(" AS ")[2] or "last"
        self.root = self._stages[name] = self._folder / name
        for folder in (*BASE, "tmp", "var/lib", "opt"):
            (self.root / folder).mkdir(parents=True)
        self.directory, self.user = "/", "0:0"
        self._hand_over(self.root)

    def _workdir(self, step: Step) -> None:
        self.directory = step.rest
        (self.root / step.rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        self._hand_over(self.root / step.rest.lstrip("/"))

    def _copy(self, step: Step) -> None:
        flags = [word for word in step.words if word.startswith("--")]
        *names, target = [word for word in step.words if not word.startswith("--")]
        source = ROOT
        for flag in flags:
            if flag.startswith("--from="):
                source = self._stages[flag.removeprefix("--from=")]
        for name in names:
            path = source / name.lstrip("/")
            to = self.root / (self.directory + "/" + target if target[0] == "." else target).lstrip(
                "/"
            )
            if path.is_dir():
                ignored = shutil.ignore_patterns("__pycache__") if source == ROOT else None
                shutil.copytree(path, to, symlinks=True, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copy2(path, to)
            self._hand_over(to)

    def _run(self, step: Step) -> None:
        network = re.compile("PIP_|SSL_|.*_proxy$", re.IGNORECASE)
        index = {name: value for name, value in os.environ.items() if network.match(name)}
        run = self._enter("root", ["sh", "-ec", step.rest], self.environment | index)
        said, _ = run.communicate(timeout=600)
        assert run.returncode == 0, f"{step.rest}\n{said}"

    def _env(self, step: Step) -> None:
        self.environment |= dict(word.split("=", 1) for word in step.words)

    def _user(self, step: Step) -> None:
        self.user = step.rest

    def _entrypoint(self, step: Step) -> None:
        self.entrypoint = step.words

    def _cmd(self, step: Step) -> None:
        self.command = step.words

    def _healthcheck(self, step: Step) -> None:
        self.health = json.loads(step.rest.partition("CMD ")[2])

    def _volume(self, step: Step) -> None:
        assert step.words == [self.directory], "the one folder that can be written"

    def _expose(self, step: Step) -> None:
        assert step.words == ["8000"]

    def _stopsignal(self, step: Step) -> None:
        assert step.words == ["SIGTERM"]

    def _hand_over(self, path: Path) -> None:
        """Let who carries out the steps own what was put there."""
        if os.geteuid() == 0:
            for one in (path, *path.rglob("*")):
                os.chown(one, NOBODY, NOBODY, follow_symlinks=False)
