"""Fixtures for calls of models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.model_calls import Wire, silent_events

from deep_research.core.events.call import CallEvents


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """Makes models that call fake servers."""
    with Wire(monkeypatch) as wire:
        yield wire


@pytest.fixture
def events() -> CallEvents:
    """The events of a call that nothing listens to."""
    return silent_events()
