"""Rows of an earlier log are read as their owner means them, or refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from foretell.client.history_parts import history_parts
from foretell.errors import InvalidInput
from foretell.protocol import HistoryRow

ROW: dict[str, Any] = {"action": "a", "signal": "click", "reward": 0.5, "propensity": 0.25}


def the_row(**fields: Any) -> HistoryRow:
    ((row,),) = (part.rows for part in history_parts([ROW | fields], None))
    return row


@pytest.mark.parametrize("kind", [np.float64, np.float32, float])
def test_numbers_and_texts_of_arrays_are_those_of_python(kind: Any) -> None:
    row = the_row(action=np.str_("a"), reward=kind(0.5), propensity=kind(0.25))
    assert row == the_row()
    assert type(row.action) is str
    assert type(row.reward) is float
    assert the_row(reward=np.int64(1)) == the_row(reward=1)


@pytest.mark.parametrize("missing", [None, math.nan, np.float64("nan")])
def test_what_is_missing_in_a_data_frame_is_not_known(missing: object) -> None:
    assert the_row(reward=missing).reward is None


@pytest.mark.parametrize("row", [ROW | {"reward": math.inf}, HistoryRow("a", "x", -math.inf)])
def test_what_json_would_write_as_null_is_refused(row: Any) -> None:
    with pytest.raises(InvalidInput, match=r"reward of row 1 of a history must be finite, got -?i"):
        history_parts([ROW, row], None)


@pytest.mark.parametrize("reward", ["1", True, [1.0]])
def test_what_is_no_number_is_refused(reward: object) -> None:
    with pytest.raises(InvalidInput, match="row 0 of a history must have"):
        the_row(reward=reward)


def test_what_is_no_list_is_refused() -> None:
    rows: Any = None
    with pytest.raises(InvalidInput, match="rows must be a list of rows, got None"):
        history_parts(rows, None)
