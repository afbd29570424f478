"""A command in the process of the test: as `server_process.foretell`, without a new Python.

It goes through `main`, so exit codes and what is printed are those of the real program. A Python
and its imports cost half a second of CPU each time: real processes are for what needs one.
"""

from __future__ import annotations

import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from foretell.cli import main
from tests.service.server_process import environment


def foretell(
    *arguments: str,
    cwd: Path | None = None,
    answer: str = "",
    variables: dict[str, str] | None = None,
) -> CompletedProcess[str]:
    """Run a command to its end."""
    output, errors, code = StringIO(), StringIO(), 0
    with (
        chdir(cwd or Path.cwd()),
        mock.patch.dict("os.environ", environment(**(variables or {})), clear=True),
        mock.patch.object(sys, "argv", ["foretell", *arguments]),
        mock.patch.object(sys, "stdin", StringIO(answer)),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return CompletedProcess(list(arguments), code, output.getvalue(), errors.getvalue())
