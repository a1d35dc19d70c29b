"""The guard of the test suite does refuse the network."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest


async def open_asynchronously(host: str) -> None:
    await asyncio.open_connection(host, 443)


def test_names_are_not_looked_up_and_addresses_outside_are_not_connected_to(
    refusals: list[str],
) -> None:
    with pytest.raises(AssertionError, match="loopback only"):
        socket.getaddrinfo("host.invalid", 443)
    with pytest.raises(AssertionError, match="loopback only"):
        asyncio.run(open_asynchronously("host.invalid"))
    with socket.socket() as client, pytest.raises(AssertionError, match="loopback only"):
        client.connect(("192.0.2.1", 443))
    with (
        socket.socket(type=socket.SOCK_DGRAM) as client,
        pytest.raises(AssertionError, match="loopback only"),
    ):
        client.sendto(b"", ("192.0.2.1", 53))
    assert len(refusals) == 4
    refusals.clear()


def test_no_setting_leaks_in_and_runs_have_a_folder_of_their_own() -> None:
    assert [name for name in os.environ if name.startswith(("OPENAI_", "TAVILY_"))] == []
    ours = {name for name in os.environ if name.startswith("DEEP_RESEARCH_")}
    assert ours == {
        "DEEP_RESEARCH_BROWSER",
        "DEEP_RESEARCH_DATA_DIR",
        "DEEP_RESEARCH_TRUST_VERIFIER",
    }
    assert os.environ["LANGGRAPH_STRICT_MSGPACK"] == "true"
