"""What a sentence for people never holds, as a check for tests and for Schemathesis."""

from __future__ import annotations

import re
from typing import Any

PARSER_WORDS = (
    "Expected `", "at `$", "Object missing", "Object contains", "Invalid enum", "`int`", "`str`",
    "`float`", "`array`", "`object`", "`null`", "malformed:", "truncated", "regex", "byte 0x",
    "codec", "Traceback", "msgspec", "decode",
)  # fmt: skip
SENT = re.compile(
    r"\bgot |['\"]|\b(is|are) (missing|empty|no|not)\b|\bthere (is|are) no\b|\bneeds?\b"
    r"|\b(was|were|came|comes?|has|have|had|ends?|sent|given|already)\b"
)
"""How a sentence speaks of what was sent: its value, its name, or that it was not there."""


def check_sentence(problem: dict[str, Any]) -> None:
    """Check that a problem says in one sentence what is wrong and what to do."""
    detail = problem["detail"]
    assert not [word for word in PARSER_WORDS if word in detail], detail
    assert "\n" not in detail, detail
    what, _, advice = detail.rpartition(": ")
    assert len(what.split()) >= 3, f"it does not say what is wrong, and what to do: {detail}"
    assert len(advice.split()) >= 2, f"it does not say what to do: {detail}"
    assert SENT.search(detail), f"it does not say what was sent: {detail}"
    for error in problem.get("errors") or []:
        assert set(error) == {"field", "detail"}, error
        assert error["detail"] in detail, problem
        assert ": " in error["detail"], f"it does not say what to do: {error}"
        name = error["field"].partition("[")[0].partition(".")[0]
        assert name in error["detail"] or repr(name)[1:-1] in error["detail"], error
