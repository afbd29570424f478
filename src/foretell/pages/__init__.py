"""Pages: one Jinja2 environment, one stylesheet and uPlot, for everything that is HTML."""

from foretell.pages.environment import render

__all__ = ["render"]
