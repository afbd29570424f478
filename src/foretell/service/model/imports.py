"""The histories that were sent to a campaign: which parts have come, and what became of them.

All of it is a function of the log, but for how far a refit has come.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from foretell.errors import LISTED
from foretell.protocol import ImportStatus, ImportView
from foretell.service.model.events import CampaignConfig, Imported
from foretell.service.model.timestamps import format_timestamp


@dataclass
class ImportProgress:
    """How far one history has come."""

    parts: dict[int, Imported] = field(default_factory=dict)
    """By their numbers, without their rows."""
    ended: bool = False
    """Whether a part has come that was said to be the last."""
    read: int = 0
    """Decisions that the refit has read, of so many in `to_read`."""
    to_read: int = 1
    detail: str = ""
    """Why it does not go on, in one sentence."""

    @property
    def latest(self) -> int:
        """The highest number of a part that has come."""
        return max(self.parts, default=0)

    @property
    def ends(self) -> int | None:
        """The number of the last part; None while that has not come.

        No part that has come is left out, even if one before it was said to be the last.
        """
        return self.latest if self.ended else None

    @property
    def missing(self) -> list[int]:
        """The parts up to the last one that have not come."""
        return [one for one in range(1, (self.ends or 0) + 1) if one not in self.parts]

    @property
    def complete(self) -> bool:
        """Whether all parts have come."""
        return self.ends is not None and not self.missing

    @property
    def decisions(self) -> int:
        """How many decisions have come."""
        return sum(part.decisions for part in self.parts.values())


class Imports:
    """The histories of one campaign."""

    def __init__(self) -> None:
        """Begin with none."""
        self.by_id: dict[str, ImportProgress] = {}

    def note(self, event: Imported) -> None:
        """Take note of a part; the same one again changes nothing."""
        progress = self.by_id.setdefault(event.id, ImportProgress())
        progress.parts[event.part] = msgspec.structs.replace(event, rows=b"")
        progress.ended = progress.ended or event.ends

    def knows(self, history: str, part: int) -> bool:
        """Return whether a part has come."""
        return history in self.by_id and part in self.by_id[history].parts

    @property
    def decisions(self) -> int:
        """How many decisions have come, of all histories."""
        return sum(one.decisions for one in self.by_id.values())

    def waiting(self, config: CampaignConfig) -> list[str]:
        """Return the histories that are whole, and not in force."""
        in_force = {one.id for one in config.history}
        return [name for name, one in self.by_id.items() if one.complete and name not in in_force]

    def views(self, config: CampaignConfig) -> list[ImportView]:
        """Return every history as the service shows it, in the order in which they came."""
        in_force = {one.id for one in config.history}
        return [_view(name, one, done=name in in_force) for name, one in self.by_id.items()]


def _numbers(parts: list[int]) -> str:
    """Return the numbers of parts in words, with runs as their ends.

    >>> _numbers([1, 2, 3, 7, 9, 10])
    '1 to 3, 7, 9, 10'
    """
    runs: list[list[int]] = []
    for part in parts:
        if runs and part == runs[-1][-1] + 1:
            runs[-1].append(part)
        else:
            runs.append([part])
    said = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(said[:LISTED]) + " and more" * (len(said) > LISTED)


def _view(name: str, progress: ImportProgress, *, done: bool) -> ImportView:
    parts = progress.parts.values()
    first = [part.first for part in parts if part.first is not None]
    last = [part.last for part in parts if part.last is not None]
    status: ImportStatus = "refitting" if progress.complete else "receiving"
    detail = progress.detail
    if not detail and progress.missing:
        detail = f"parts that are missing: {_numbers(progress.missing)}"
    elif not detail and not progress.ended:
        detail = f"the last part has not come: send those after part {progress.latest}"
    return ImportView(
        id=name,
        status="in force" if done else status,
        decisions=progress.decisions,
        rewards=sum(part.rewards for part in parts),
        begin=format_timestamp(min(first)) if first else None,
        end=format_timestamp(max(last)) if last else None,
        parts=len(parts),
        progress=1.0 if done else min(1.0, progress.read / progress.to_read),
        detail="" if done else detail,
    )
