"""Whatever happens on a network is a result, and an answer has a largest size."""

from __future__ import annotations

import io
import socket
from typing import Any

import pytest

from foretell.client import ServiceUnavailable
from foretell.client.address import ServiceAddress
from foretell.client.calls import ApiCall
from foretell.client.transport import SyncTransport
from tests.client.conftest import Make
from tests.client.fake_service import Fault, Service


def test_no_failure_of_a_connection_is_raised(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make("http://localhost:1", timeout=0.05, fallback="pick")
    other = make("http://localhost:1", timeout=0.05)
    monkeypatch.setattr(socket, "getaddrinfo", _unheard_of)
    assert client.decide("c").mode == "fallback"
    with pytest.raises(ServiceUnavailable, match="the service"):
        other.decide("c")
    with pytest.raises(ServiceUnavailable, match="cannot be reached: OverflowError"):
        other.create_campaign(name="c")  # tried once, and for longer than a busy machine needs


def _unheard_of(*_: Any, **__: Any) -> None:
    raise OverflowError


def test_an_answer_has_a_largest_size(service: Service, make: Make) -> None:
    service.always = Fault(status=200, body=b" " * 2**24 + b" ", kind="application/json")
    with pytest.raises(ServiceUnavailable, match="answered with more than 16 MB"):
        make(service.url, timeout=20.0).create_campaign(name="c")


def test_a_file_is_the_body_of_a_request_and_an_answer_comes_in_parts(service: Service) -> None:
    transport = SyncTransport(ServiceAddress.of(service.url, "ftk_abc"))
    call = ApiCall("POST", "/v1/campaigns", io.BytesIO(b'{"name": "c"}'))
    with transport.stream(call, 20.0) as reply:
        assert (reply.status, reply.content_type, reply.has_length) == (
            201,
            "application/json",
            True,
        )
        assert b"".join(reply.parts()) == b'{"name": "c", "status": "running"}'
    assert service.requests[0].body == {"name": "c"}
    assert service.requests[0].key == "Bearer ftk_abc"
    transport.close()


@pytest.mark.parametrize("fault", [Fault(drop=True), Fault(delay=2.0)], ids=["dropped", "slow"])
def test_a_stream_raises_what_goes_wrong_on_the_network(service: Service, fault: Fault) -> None:
    service.always = fault
    transport = SyncTransport(ServiceAddress.of(service.url, None))
    call = ApiCall("GET", "/v1/campaigns/c/report")
    with pytest.raises(ServiceUnavailable, match="the service"), transport.stream(call, 0.2):
        pass
    transport.close()
