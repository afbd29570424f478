"""Short names of policies for legends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def short_label(printed: str) -> str:
    """Leave out what is always the same.

    >>> short_label("nsd-ucrl2(window=800, delta=0.1)"), short_label("oracle-nsd(delta=0.1)")
    ('nsd-ucrl2(window=800)', 'oracle-nsd')
    """
    text = re.sub(r",? ?delta=0\.1", "", printed)
    text = re.sub(r"\(, ", "(", text)
    text = re.sub(r"\(window=None\)|window=None, ", "", text)
    return text.replace("()", "")


def short_labels(printed: Iterable[str]) -> dict[str, str]:
    """Give short names, without any field where the name alone tells policies apart."""
    listed = list(printed)
    names = [one.partition("(")[0] for one in listed]
    return {
        one: name if names.count(name) == 1 else short_label(one)
        for one, name in zip(listed, names, strict=True)
    }
