"""What a sentence for people never holds, as a check for tests and for Schemathesis."""

from __future__ import annotations

from typing import Any

PARSER_WORDS = (
    "Expected `", "at `$", "Object missing", "Object contains", "Invalid enum", "`int`", "`str`",
    "`float`", "`array`", "`object`", "`null`", "malformed:", "truncated", "regex", "byte 0x",
    "codec", "Traceback", "msgspec", "decode",
)  # fmt: skip


def check_sentence(problem: dict[str, Any]) -> None:
    """Check that a problem says in one sentence what is wrong and what to do."""
    detail = problem["detail"]
    assert not [word for word in PARSER_WORDS if word in detail], detail
    assert "\n" not in detail, detail
    assert len(detail) > 20, detail
    for error in problem.get("errors") or []:
        assert set(error) == {"field", "detail"}, error
        assert error["detail"] in detail, problem
        name = error["field"].partition("[")[0].partition(".")[0]
        assert name in error["detail"] or repr(name)[1:-1] in error["detail"], error
