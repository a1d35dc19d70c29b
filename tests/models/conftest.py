"""Fixtures for calls of models."""

from __future__ import annotations

import pytest
from kit.model_calls import Wire

from deep_research.core.run.events.call import CallEvents
from deep_research.core.run.events.log import Emitter
from deep_research.core.run.events.packets import Placement


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Makes models that call one fake server."""
    return Wire(monkeypatch)


@pytest.fixture
def events() -> CallEvents:
    """The events of a call that nothing listens to."""
    return CallEvents(Emitter(lambda _: None), Placement(turn_index=0))
