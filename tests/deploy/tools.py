"""The programs that check what is in deploy/, and a real nginx in front of a server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
_UNPACKED = ROOT / ".venv" / "debian" / "usr"
MAIN = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log warn;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  {content}
}}
"""
"""What stands around a file of deploy/, without anything outside a folder of the test."""


def tool(name: str) -> str:
    """Return where a program is; `make deploy-tools` brings it."""
    folders = [str(_UNPACKED / "bin"), str(_UNPACKED / "sbin"), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*folders, os.environ["PATH"], "/usr/sbin"])
    found = shutil.which(name, path=path)
    assert found, f"there is no {name}: make deploy-tools brings it on Debian"
    return found


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run one of the programs to its end."""
    return subprocess.run(
        [tool(command[0]), *command[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | more,
    )


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def write_config(folder: Path, content: str) -> Path:
    """Write a configuration of nginx that holds `content` in its http part."""
    config = folder / "nginx.conf"
    config.write_text(MAIN.format(folder=folder, content=content))
    return config


class Nginx:
    """A real nginx with a configuration in its http part; leaving the block stops it."""

    def __init__(self, folder: Path, content: str, port: int) -> None:
        """Start it, and wait until it listens at `port`."""
        self.folder, self.port = folder, port
        self.url = f"http://127.0.0.1:{port}"
        config = write_config(folder, content)
        command = [tool("nginx"), "-e", f"{folder}/nginx.log", "-p", str(folder), "-c", str(config)]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(self.url, timeout=5).close()  # noqa: S310  (our own)
            except URLError as error:
                if not isinstance(error.reason, ConnectionRefusedError):
                    return
            else:
                return
            assert self.process.poll() is None, (folder / "nginx.log").read_text("utf-8")
            time.sleep(0.05)
        raise AssertionError("nginx does not listen")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)
