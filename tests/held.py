"""A call of a model that does not end by itself."""

from __future__ import annotations

import asyncio
import threading
from typing import Any


def gate() -> tuple[threading.Event, threading.Event, Any]:
    """Whether a model call began, whether it was cancelled, and the reply that waits."""
    began, ended = threading.Event(), threading.Event()

    async def wait(*_: Any) -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    return began, ended, wait
