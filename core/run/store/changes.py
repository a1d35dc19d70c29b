"""Events by which those who follow a thread learn that something of it was stored."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from ..concurrency import PerLoop

_events = PerLoop(WeakValueDictionary[str, asyncio.Event])


def next_change(thread_id: str) -> asyncio.Event:
    """Return the event that the next change of a thread sets: take it before you read, and wait for it after."""
    return _events.get().setdefault(thread_id, asyncio.Event())


def followed() -> list[str]:
    """Return the threads whose changes are awaited on this event loop."""
    return list(_events.get())


def announce(thread_id: str) -> None:
    """Wake all who follow a thread on this event loop."""
    if event := _events.get().pop(thread_id, None):
        event.set()
