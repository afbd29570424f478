"""Pages: one Jinja2 environment, one stylesheet and uPlot, for everything that is HTML."""

from foretell.pages.environment import add_templates, read_static, render

__all__ = ["add_templates", "read_static", "render"]
