"""Batches in files: one file each, with their provenance, read back as what they were."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.errors import DamagedFile, ForetellError, InvalidInput
from foretell.files import write_whole
from foretell.policies import policy
from foretell.sim.result import Batch, Batches, Trajectories
from foretell.worlds.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORMAT = "foretell-batches-2"


def save(what: Batch | Batches, path: str | os.PathLike[str]) -> None:
    """Write a batch, or several, to one file, whole or not at all."""
    arrays: dict[str, Any] = {}
    header = []
    single = isinstance(what, Batch)
    for index, batch in enumerate([what] if isinstance(what, Batch) else what.values()):
        named = {"rounds": batch.rounds, "regret": batch.regret, "actions": batch.actions}
        if batch.trajectories is not None:
            traced = batch.trajectories._asdict()
            named |= {
                f"trajectory_{name}": value for name, value in traced.items() if value is not None
            }
        header.append(
            {
                "spec": str(batch.spec),
                "scenario": batch.scenario.to_dict(),
                "horizon": batch.horizon,
                "seed": batch.seed,
                "first_run": batch.first_run,
                "provenance": batch.provenance,
                "trajectories": batch.trajectories is not None,
                "alarms": "trajectory_alarms" in named,
            }
        )
        arrays |= {f"{index}_{name}": value for name, value in named.items()}
    text = json.dumps({"format": _FORMAT, "single": single, "batches": header}, sort_keys=True)
    head = np.frombuffer(text.encode(), np.uint8)
    write_whole(path, lambda file: np.savez_compressed(file, header=head, **arrays))


def load(path: str | os.PathLike[str]) -> Batch | Batches:
    """Read what `Batch.save` or `Batches.save` wrote: a batch, or batches."""
    if not Path(path).is_file():
        raise InvalidInput(f"there is no file {os.fspath(path)!r} to load: check its name")
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            header = json.loads(bytes(file["header"]))
            _check_format(path, header["format"])
            batches = [_read(file, index, one) for index, one in enumerate(header["batches"])]
            single = header["single"]
    except ForetellError:
        raise
    except Exception as error:  # a flipped bit can break any layer: zip, deflate, npy, json
        raise DamagedFile(
            f"{os.fspath(path)!r} is damaged or was not written by foretell ({error}): "
            f"run the simulation again"
        ) from error
    return batches[0] if single else Batches({str(batch.spec): batch for batch in batches})


def _check_format(path: str | os.PathLike[str], found: str) -> None:
    if found != _FORMAT:
        raise DamagedFile(
            f"{os.fspath(path)!r} has the format {found!r}, not {_FORMAT!r}: "
            f"it was written by another version"
        )


def _read(file: Mapping[str, Any], index: int, header: dict[str, Any]) -> Batch:
    traced = None
    if header["trajectories"]:
        columns = {name: f"{index}_trajectory_{name}" for name in Trajectories._fields}
        if not header["alarms"]:
            del columns["alarms"]
        traced = Trajectories(**{"alarms": None} | {n: file[key] for n, key in columns.items()})
    return Batch(
        spec=policy(header["spec"]),
        scenario=Scenario.from_dict(header["scenario"]),
        horizon=header["horizon"],
        seed=header["seed"],
        rounds=file[f"{index}_rounds"],
        regret=file[f"{index}_regret"],
        actions=file[f"{index}_actions"],
        provenance=header["provenance"],
        trajectories=traced,
        first_run=header["first_run"],
    )
