"""What a simulation gives back: regret and pulls of every run, with where they come from."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foretell.errors import DamagedFile, ForetellError, InvalidInput, UnknownName
from foretell.files import write_whole
from foretell.policies import Spec, policy
from foretell.stats.intervals import mean_interval
from foretell.worlds.scenario import Scenario

if TYPE_CHECKING:
    import numpy.typing as npt

    from foretell.types import Floats, Ints

_FORMAT = "foretell-batches-1"


class Trajectories(NamedTuple):
    """Every round of every run, as (runs, horizon); a delay of −1 never arrives."""

    actions: npt.NDArray[np.int32]
    signals: npt.NDArray[np.int32]
    rewards: Floats
    delays: Ints


@dataclass(frozen=True, eq=False)
class Batch:
    """The runs of one policy in one scenario."""

    spec: Spec
    scenario: Scenario
    horizon: int
    seed: int
    rounds: Ints
    """(c,): the rounds, from 0, after which the regret was written."""
    regret: Floats
    """(runs, c): the cumulative dynamic regret after each of them."""
    actions: Ints
    """(runs, actions): how often each action was played."""
    provenance: dict[str, str]
    """Versions and the digest of the source that made it."""
    trajectories: Trajectories | None = None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.regret)

    @property
    def final(self) -> Floats:
        """(runs,): the regret after the last checkpoint: the end, unless you chose others."""
        return self.regret[:, -1]

    def mean(self) -> Floats:
        """(c,): the mean regret over runs."""
        mean: Floats = self.regret.mean(axis=0)
        return mean

    def interval(self, level: float = 0.95) -> Floats:
        """(2, c): the Student interval of the mean regret."""
        return mean_interval(self.regret, level)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the batch to one file; `foretell.load` reads it."""
        Batches({str(self.spec): self}).save(path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the regret as a table with the columns policy, run, round, regret."""
        Batches({str(self.spec): self}).to_csv(path)

    def __repr__(self) -> str:
        """Show what it is and how it ended."""
        return (
            f"Batch({self.spec}, horizon={self.horizon}, runs={self.runs}, "
            f"final={self.final.mean():.1f})"
        )


class Batches(dict[str, Batch]):
    """Batches by the printed spec, in the order asked for; a spec or any way to write it works."""

    def __getitem__(self, key: str | Spec) -> Batch:
        """Return the batch of the spec that `key` means."""
        if isinstance(key, str) and key in self:
            return super().__getitem__(key)
        printed = str(policy(key))
        if printed in self:
            return super().__getitem__(printed)
        for batch in self.values():
            if batch.spec == policy(key):
                return batch
        raise UnknownName.of("batch of", printed, self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all batches to one file, whole or not at all; `foretell.load` reads it."""
        arrays: dict[str, Any] = {}
        header = []
        for index, batch in enumerate(self.values()):
            header.append(
                {
                    "spec": str(batch.spec),
                    "scenario": batch.scenario.to_dict(),
                    "horizon": batch.horizon,
                    "seed": batch.seed,
                    "provenance": batch.provenance,
                    "trajectories": batch.trajectories is not None,
                }
            )
            named = {"rounds": batch.rounds, "regret": batch.regret, "actions": batch.actions}
            if batch.trajectories is not None:
                traced = batch.trajectories._asdict()
                named |= {f"trajectory_{name}": value for name, value in traced.items()}
            arrays |= {f"{index}_{name}": value for name, value in named.items()}
        text = json.dumps({"format": _FORMAT, "batches": header}, sort_keys=True)
        head = np.frombuffer(text.encode(), np.uint8)
        write_whole(path, lambda file: np.savez_compressed(file, header=head, **arrays))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the regret as a table with the columns policy, run, round, regret."""
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["policy", "run", "round", "regret"])
            for name, batch in self.items():
                for run, row in enumerate(batch.regret):
                    for moment, regret in zip(batch.rounds, row, strict=True):
                        table.writerow([name, run, int(moment), repr(float(regret))])


def load(path: str | os.PathLike[str]) -> Batches:
    """Read what `Batch.save` or `Batches.save` wrote."""
    if not Path(path).is_file():
        raise InvalidInput(f"there is no file {os.fspath(path)!r} to load: check its name")
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            header = json.loads(bytes(file["header"]))
            _check_format(path, header["format"])
            batches = [_read(file, index, one) for index, one in enumerate(header["batches"])]
    except ForetellError:
        raise
    except Exception as error:  # a flipped bit can break any layer: zip, deflate, npy, json
        raise DamagedFile(
            f"{os.fspath(path)!r} is damaged or was not written by foretell ({error}): "
            f"run the simulation again"
        ) from error
    return Batches({str(batch.spec): batch for batch in batches})


def _check_format(path: str | os.PathLike[str], found: str) -> None:
    if found != _FORMAT:
        raise DamagedFile(
            f"{os.fspath(path)!r} has the format {found!r}, not {_FORMAT!r}: "
            f"it was written by another version"
        )


def _read(file: Any, index: int, header: dict[str, Any]) -> Batch:
    traced = None
    if header["trajectories"]:
        traced = Trajectories(
            *(file[f"{index}_trajectory_{name}"] for name in Trajectories._fields)
        )
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
    )
