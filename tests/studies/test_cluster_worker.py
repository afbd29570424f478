"""A worker uses the files that were sent to it, whatever else its machine has."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

from foretell.studies.cluster_worker import OwnCode
from tests.service.server_process import environment

WORKER = """
import sys
from foretell.studies.cluster_worker import describe_worker
describe_worker(sys.stdin.buffer.read())
import sent
print(sent.VALUE, sent.helper.VALUE)
"""


def test_a_file_that_was_sent_comes_before_one_of_its_name(tmp_path: Path) -> None:
    """As when a worker is started in the folder of the study, on this machine or on another."""
    sent = {"sent.py": b"import helper\nVALUE = 'sent'\n", "helper.py": b"VALUE = 'sent too'\n"}
    for name in sent:
        (tmp_path / name).write_text("VALUE = 'older'\n", "utf-8")
    own = OwnCode((("sent", "sent.py"),), tuple(sent.items()))
    ran = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=pickle.dumps(own),
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(tmp_path)),
    )
    assert ran.stdout.decode() == "sent sent too\n", ran.stderr.decode()
