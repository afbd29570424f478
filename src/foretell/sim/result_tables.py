"""Results as tables: columns of NumPy, and from them CSV, data frames and Parquet files."""

from __future__ import annotations

import csv
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from foretell.errors import InvalidInput, MissingExtra
from foretell.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from foretell.sim.result import Batch, Batches

Library: TypeAlias = Literal["pandas", "polars"]
Columns: TypeAlias = dict[str, Any]
"""Arrays of one length, by name."""


def columns_of(batches: Batches, *, trajectories: bool = False) -> Columns:
    """Return a row for every checkpoint of every run, or for every round of it."""
    read: Callable[[Batch], Columns] = _rounds_of if trajectories else _regret_of
    parts = [read(batch) for batch in batches.values()]
    names = np.repeat(np.array(list(batches), object), [len(part["run"]) for part in parts])
    return {"policy": names} | {
        name: np.concatenate([part[name] for part in parts]) for name in parts[0]
    }


def _regret_of(batch: Batch) -> Columns:
    return _keys(batch, batch.rounds) | {"regret": batch.regret.ravel()}


def _rounds_of(batch: Batch) -> Columns:
    traced = batch.traced
    alarms = np.zeros_like(traced.actions) if traced.alarms is None else traced.alarms
    arrays: Columns = {
        "action": traced.actions,
        "signal": traced.signals,
        "reward": traced.rewards,
        "delay": traced.delays,
        "gap": traced.gaps,
        "best_action": traced.best_actions,
        "change": traced.changes,
        "alarms": alarms,
    }
    rows = {name: array.ravel() for name, array in arrays.items()}
    return _keys(batch, np.arange(batch.horizon)) | rows


def _keys(batch: Batch, rounds: Any) -> Columns:
    numbers = batch.first_run + np.arange(batch.runs)
    return {"run": np.repeat(numbers, len(rounds)), "round": np.tile(rounds, batch.runs)}


def as_frame(columns: Columns, library: Library | None = None) -> Any:
    """Return a data frame of pandas or polars: the one named, or the first that is installed."""
    known = get_args(Library)
    if library is not None and library not in known:
        raise InvalidInput(f"library must be 'pandas' or 'polars', got {library!r}")
    wanted = known if library is None else (library,)
    for name in wanted:
        if find_spec(name) is not None:
            frames = import_module(name)
            if name == "polars":  # it reads lists of text as text, and arrays of objects as objects
                columns = {key: _listed(values) for key, values in columns.items()}
            return frames.DataFrame(columns)
    raise InvalidInput(
        f"a data frame needs {' or '.join(wanted)}, got none installed: "
        f"pip install {wanted[0]}, or write a file with to_csv or to_parquet"
    )


def _listed(values: Any) -> Any:
    return values.tolist() if values.dtype == object else values


def write_csv(batches: Batches, path: str | os.PathLike[str]) -> None:
    """Write the regret with the columns policy, run, round, regret; every digit of it."""
    columns = columns_of(batches)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        regret = map(repr, columns["regret"].tolist())
        keys = [columns[name].tolist() for name in ("policy", "run", "round")]
        table.writerows(zip(*keys, regret, strict=True))


def write_parquet(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Write a Parquet file, whole or not at all."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra(
            "a Parquet file needs DuckDB, which is not installed: "
            "pip install 'foretell[parquet]', or use to_csv"
        ) from None
    config: dict[str, Any] = {"autoinstall_known_extensions": False, "threads": 1}

    def write(file: IO[bytes]) -> None:
        with duckdb.connect(config=config) as connection:
            connection.register("columns", columns)
            connection.execute(
                f"COPY columns TO '{_quoted(file.name)}' (FORMAT parquet, USE_TMP_FILE false)"
            )

    write_whole(path, write)


def _quoted(name: str) -> str:
    return name.replace("'", "''")
