"""The text under each field of a class: what the field means, said once, where it is declared."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise


def field_texts(kind: type) -> dict[str, str]:
    """Return the text under each field of a class, and under those of its bases.

    >>> from foretell.policies import Ucb
    >>> field_texts(Ucb)["scale"]
    'Factor of the confidence radius; 1 is UCB1.'
    """
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        texts |= _texts_of_module(base.__module__).get(base.__name__, {})
    return texts


@cache
def _texts_of_module(name: str) -> dict[str, dict[str, str]]:
    """Return the text under each field of each class of a module; none where there is no source."""
    try:
        source = inspect.getsource(sys.modules[name])
    except (OSError, TypeError):  # typed into a console, or built into Python
        return {}
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            texts = found.setdefault(node.name, {})
            for field, text in pairwise(node.body):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(text, ast.Expr)
                    and isinstance(text.value, ast.Constant)
                ):
                    texts[field.target.id] = " ".join(str(text.value.value).split())
    return found
