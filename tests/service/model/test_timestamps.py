"""Timestamps are written alike, read back exactly, and refused where they are no RFC 3339."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.service.model.timestamps import format_timestamp, parse_timestamp

LAST = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""


@given(st.integers(0, LAST))
def test_what_is_written_is_read_back(moment: int) -> None:
    written = format_timestamp(moment)
    assert len(written) == len("2023-11-14T22:13:20.000001Z")
    assert parse_timestamp(written) == moment


def test_moments_after_the_year_9999_are_written_in_its_last_second() -> None:
    assert format_timestamp(2**62) == "9999-12-31T23:59:59.387904Z"


@pytest.mark.parametrize(
    "text", ["2023-11-14t22:13:20z", "2023-11-14 22:13:20Z", "2023-11-15T00:13:20.000+02:00"]
)
def test_one_moment_may_be_written_in_several_ways(text: str) -> None:
    assert parse_timestamp(text) == 1_700_000_000_000_000


@pytest.mark.parametrize("digits", ["9999990", "9999994", "9999995", "9999999999999"])
def test_digits_after_the_sixth_are_cut_off_and_not_rounded(digits: str) -> None:
    """The same moment with more digits must stay the same event."""
    assert parse_timestamp(f"2023-11-14T22:13:20.{digits}Z") == 1_700_000_000_999_999


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "1700000000",
        "2023-11-14",
        "2023-11-14T22:13:20",
        "2023-11-14T22:13Z",
        "2023-02-29T00:00:00Z",
        "2023-11-14T22:13:20+24:00",
        "20231114T221320Z",
        "2023-11-14T22:13:20+0100",
        "2023-11-14T22:13:20.+01:00",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    assert parse_timestamp(text) is None
