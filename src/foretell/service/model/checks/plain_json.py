"""JSON as plain values, or one sentence that says where it stops being JSON."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from foretell.service.model.errors import Malformed


def plain_values(body: bytes) -> Any:
    """Read JSON into plain values, or raise Malformed with the place where it stops being JSON.

    A number that is too long to be read is infinite.
    """
    if not body.strip():
        raise Malformed("the body is empty: send JSON")
    try:
        text = body.decode()
        return json.loads(text, parse_constant=_no_number, parse_int=_whole_number)
    except UnicodeDecodeError as error:
        raise Malformed(f"the body is no UTF-8 at byte {error.start}: encode it as UTF-8") from None
    except json.JSONDecodeError as error:
        place, near = error.pos, text[error.pos : error.pos + 20]
        if not near.strip():
            raise Malformed("the body ends before its JSON does: send all of it") from None
        raise Malformed(
            f"the body is no JSON from character {place} on, at {near!r}: mend what writes it"
        ) from None
    except RecursionError:
        raise Malformed("the body has too many arrays and objects inside each other") from None


def _no_number(name: str) -> NoReturn:
    raise Malformed(f"{name} is no JSON: send a finite number, or leave the field out")


def _whole_number(text: str) -> float:
    return math.inf if len(text) > 400 else int(text)
