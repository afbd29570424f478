"""The dashboard: what the policies know, what they wait for, and whether to trust it.

A newcomer reads `routes` (which pages there are), `page_endpoint` (the way of a request), then a
page, such as `campaign_page`, and its template. Every number comes from a call of the engine that
answers the API too.
"""

from foretell.service.ui.routes import ui_routes
from foretell.service.ui.site import Site

__all__ = ["Site", "ui_routes"]
