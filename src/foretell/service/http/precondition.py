"""ETags: a campaign carries its version, and a change may ask for the one it has read."""

from __future__ import annotations

import re

from foretell.protocol import CampaignView
from foretell.service.http.call import Call
from foretell.service.model.errors import Stale

_TAG = re.compile(rb'(W/)?"([^"]*)"')


def etag(view: CampaignView) -> tuple[bytes, bytes]:
    """Return the header that names a campaign's version."""
    return b"etag", b'"%d"' % view.version


def wanted_version(call: Call) -> int | None:
    """Return the version that If-Match asks for, None if any will do; 412 if it is another.

    A list is met by any of its tags, `*` by every campaign, and a weak tag by none.
    """
    sent = [value for name, value in call.scope["headers"] if name == b"if-match"]
    if not sent or b"*" in (value.strip() for value in sent):
        return None
    version = call.engine.campaign(call.params["campaign"]).version
    tags = {tag for value in sent for weak, tag in _TAG.findall(value) if not weak}
    if b"%d" % version not in tags:
        raise Stale(
            f'the campaign is at version "{version}", which If-Match does not name: '
            f"read it again and repeat the change"
        )
    return version
