"""Sentences of the paper, each with the verdicts on its readings, in the groups of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretell.studies.claim import Claim, Group, Verdict

WORDS = ("supported", "not supported", "undecided")
DEPENDS = "depends on the reading"


@dataclass(frozen=True)
class Sentence:
    """A sentence that was tested, with a verdict for each way to read it."""

    verdicts: tuple[Verdict, ...]

    @property
    def claim(self) -> Claim:
        """The first of its claims, which stands for the sentence."""
        return self.verdicts[0].claim

    @property
    def word(self) -> str:
        """The verdict that all readings share, else that it depends on the reading."""
        words = {verdict.word for verdict in self.verdicts}
        return words.pop() if len(words) == 1 else DEPENDS


def sentences(verdicts: list[Verdict], group: Group) -> list[Sentence]:
    """Return the sentences of a group, in the order in which they were first tested."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.claim.group == group:
            found.setdefault(verdict.claim.words, []).append(verdict)
    return [Sentence(tuple(one)) for one in found.values()]


def in_words(tested: list[Sentence]) -> str:
    """Count sentences by their verdicts.

    >>> in_words([])
    'none'
    """
    words = [sentence.word for sentence in tested]
    counts = {word: words.count(word) for word in dict.fromkeys((*WORDS, *words))}
    if counts.get(DEPENDS, 0) > 1:
        counts["depend on the reading"] = counts.pop(DEPENDS)
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"
