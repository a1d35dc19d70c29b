"""Fixtures for calls of models."""

from __future__ import annotations

import pytest
from kit.model_calls import Wire, caller_of

from deep_research.core.run.context import Context
from deep_research.core.run.events.call import CallEvents


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Makes models that call one fake server."""
    return Wire(monkeypatch)


@pytest.fixture
def events() -> CallEvents:
    """The events of a call that nothing listens to."""
    return caller_of("planner", Context()).events
