"""The fake server itself: it misses nothing."""

from __future__ import annotations

from typing import Any

import pytest
from openai_server import by_system, openai_server, say
from wired import PROMPT, Wire


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


async def test_a_request_that_the_script_does_not_know_fails_the_test(wire: Wire) -> None:
    scripts: list[Any] = [[], by_system({"You write": [say("Yes.")]})]
    for script in scripts:
        failing, refused = pytest.raises(AssertionError, match="no reply for"), pytest.raises(Exception, match="400")
        with failing, openai_server(script) as server, refused:
            await wire(server)(PROMPT)
