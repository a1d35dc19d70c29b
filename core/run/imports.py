"""Imports that Python's garbage collector leaves alone: what they make is never garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_imports() -> Iterator[None]:
    """Suspend garbage collection, and freeze all objects at the end (`gc.freeze`).

    LangGraph, LangChain and a provider's client are some 200,000 objects. A collection looks at them all, which costs
    a tenth of a second, several times while they are imported, and again in the event loop once a run has begun.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
