"""The Jinja2 environment of every page: `render`.

A template extends `base.html` and fills its blocks. What is in `static/` is put into the page with
`{{ static("page.css") }}`, so that a page is one file that works offline. The dashboard, which is
served, keeps templates of its own and links to its files instead. Jinja2 is loaded when the first
page is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from foretell.errors import MissingExtra

if TYPE_CHECKING:
    from jinja2 import Environment

_packages: list[str] = ["foretell.pages"]
"""Where templates are looked for, in this order."""
_filters: dict[str, Callable[..., str]] = {}


def add_templates(package: str, filters: Mapping[str, Callable[..., str]]) -> None:
    """Add the folder `templates/` of a package, and the filters that its templates use."""
    if package not in _packages:
        _packages.append(package)
    _filters.update(filters)
    _environment.cache_clear()


def read_static(name: str) -> bytes:
    """Return a file of `pages/static/`, for a page that links to it."""
    return _read_static(name).encode()


def render(template: str, **context: Any) -> str:
    """Return the page that a template makes of these values.

    Every value is escaped; a name that the template uses and the context lacks is an error.
    """
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "pages need Jinja2, which is not installed: install it with "
            "pip install 'foretell[lab]' or pip install 'foretell[serve]'"
        ) from error
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in _packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_filters)
    unescaped = environment.filters["safe"]
    environment.globals["static"] = lambda name: unescaped(_read_static(name))
    return environment


@cache
def _read_static(name: str) -> str:
    return resources.files("foretell.pages").joinpath("static", name).read_text("utf-8")
