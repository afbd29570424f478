"""The Jinja2 environment of every page: `render`.

A template extends `base.html` and fills its blocks. What is in `static/` is put into the page with
`{{ static("page.css") }}`, so that a page is one file that works offline. Jinja2 is loaded when
the first page is made.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from foretell.errors import MissingExtra

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **context: Any) -> str:
    """Return the page that a template of `pages/templates/` makes of these values.

    Every value is escaped; a name that the template uses and the context lacks is an error.
    """
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "pages need Jinja2, which is not installed: install it with "
            "pip install 'foretell[lab]' or pip install 'foretell[serve]'"
        ) from error
    environment = Environment(
        loader=PackageLoader("foretell.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    unescaped = environment.filters["safe"]
    environment.globals["static"] = lambda name: unescaped(_read_static(name))
    return environment


@cache
def _read_static(name: str) -> str:
    return resources.files("foretell.pages").joinpath("static", name).read_text("utf-8")
