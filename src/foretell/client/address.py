"""Where a service is, and what every request to it carries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from foretell.client.calls import ApiCall
from foretell.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    import httpx2

MAX_URL_LENGTH = 2000
"""Characters of an address: there is always room for the path of a call."""


class ServiceAddress(NamedTuple):
    """The address of a service, and the headers of every request to it."""

    url: str
    headers: dict[str, str]

    @classmethod
    def of(cls, url: str | None, key: str | None) -> ServiceAddress:
        """Check an address and a key."""
        try:
            import httpx2
        except ImportError as error:
            raise MissingExtra(
                "asking a service needs httpx2, which is not installed: "
                "install it with pip install 'foretell[client]'"
            ) from error
        if url is None:
            raise InvalidInput(
                "no address of a service was given: name one, as in "
                "Client('http://localhost:8000'), or set FORETELL_URL"
            )
        try:
            parsed = httpx2.URL(url)
        except (httpx2.InvalidURL, TypeError):
            parsed = httpx2.URL("")
        if not _is_address(parsed) or re.search(r"\s", str(url)):
            raise InvalidInput(
                f"a service has an address like 'http://localhost:8000', got {url!r}: "
                f"{_advice(url, parsed)}"
            )
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # a packed answer could be of any size
        }
        if key is not None:
            if not isinstance(key, str) or not re.fullmatch("[!-~]+", key):
                raise InvalidInput(
                    "a key is made of letters, digits and signs: check how it is read"
                )
            headers["Authorization"] = f"Bearer {key}"
        return cls(str(url).rstrip("/"), headers)

    def request(self, call: ApiCall) -> httpx2.Request:
        """Write a call as a request; a file is its body without being read into memory."""
        import httpx2

        headers = {**self.headers, **call.headers}
        return httpx2.Request(call.method, self.url + call.path, headers=headers, content=call.body)


def _advice(url: object, parsed: httpx2.URL) -> str:
    """Return what to do about what is no address."""
    if isinstance(url, str) and "://" not in url:
        return "http:// or https:// is missing in front"
    if parsed.userinfo or parsed.query or parsed.fragment:
        return "give a key on its own, not in the address"
    return "write the scheme, the host and the port so"


def _is_address(url: httpx2.URL) -> bool:
    """Return whether this is the address of a service, reachable or not."""
    try:
        url.raw_host.decode("ascii").encode("idna")  # as every connection will
    except UnicodeError:
        return False
    port = 1 if url.port is None else url.port
    whole = url.scheme in {"http", "https"} and url.raw_host and 1 <= port <= 65535
    more = url.userinfo or url.query or url.fragment or len(str(url)) > MAX_URL_LENGTH
    return bool(whole and not more)
