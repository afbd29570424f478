"""One check more than Schemathesis has: every refusal is a sentence for people."""

from __future__ import annotations

from typing import Any

import schemathesis

from tests.service.http.sentences import check_sentence


@schemathesis.check
def refusals_are_sentences(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    if 400 <= response.status_code < 500 and case.method != "HEAD":
        check_sentence(response.json())
