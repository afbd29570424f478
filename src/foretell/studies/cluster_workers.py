"""Which workers of a cluster may take part: those with the same versions and source as here."""

from __future__ import annotations

import pickle
import time
import warnings
from typing import TYPE_CHECKING, Any

from foretell.errors import InvalidInput
from foretell.studies.cluster_worker import describe_worker, machine_provenance

if TYPE_CHECKING:
    from distributed import Client

    from foretell.studies.cluster_worker import OwnCode

WORKER_SECONDS = 120.0
"""How long a cluster may be without a worker that can be used."""


class ClusterWorkers:
    """The workers of a cluster: new ones are looked at, sent the user's own files, or refused."""

    def __init__(self, client: Client, own: OwnCode) -> None:
        self._client = client
        self._own = pickle.dumps(own)
        self._here = machine_provenance()
        self._accepted: set[str] = set()
        self._refused: dict[str, str] = {}
        self._used = time.monotonic()
        self.threads: dict[str, int] = {}
        """The workers that are there and may be used, with the threads of each."""

    def look(self) -> None:
        """See who has come and who has gone; refuse by name whoever would compute otherwise."""
        listed = self._client.scheduler_info(n_workers=-1)["workers"]
        new = [one for one in listed if one not in self._accepted and one not in self._refused]
        if new:
            answers = self._client.run(describe_worker, self._own, workers=new, on_error="return")
            for address, answer in answers.items():
                self._judge(f"{listed[address]['name']} at {address}", address, answer)
        self.threads = {
            address: int(listed[address]["nthreads"])
            for address in listed
            if address in self._accepted
        }
        if self.threads:
            self._used = time.monotonic()
        elif listed and set(listed) <= set(self._refused):
            raise InvalidInput(f"no worker of the cluster can be used: {self._reasons()}")
        elif time.monotonic() - self._used > WORKER_SECONDS:
            raise InvalidInput(
                f"the cluster has had no worker for {WORKER_SECONDS:.0f} seconds: start some with "
                f"dask worker ADDRESS and call again, what was finished is kept"
            )

    def _judge(self, name: str, address: str, answer: Any) -> None:
        """Accept a worker, or refuse it and say why."""
        if isinstance(answer, dict):
            other = [key for key in self._here if answer.get(key) != self._here[key]]
            said = ", ".join(f"{key} {answer.get(key)} and not {self._here[key]}" for key in other)
            reason = f"it has {said}: install the same there" if other else ""
        else:
            text = " ".join(str(answer).split())
            reason = f"it cannot load foretell or your files ({type(answer).__name__}: {text})"
        if not reason:
            self._accepted.add(address)
            return
        self._refused[address] = f"the worker {name} is refused, because {reason}"
        warnings.warn(self._refused[address], RuntimeWarning, stacklevel=2)

    def _reasons(self) -> str:
        return "; ".join(self._refused.values())
