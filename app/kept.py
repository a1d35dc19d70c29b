"""What is kept of a thread beside its state: its name, the settings that it was given, and why it failed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore
from pydantic import BaseModel

from ..run.context import Context
from ..run.errors import DatabaseUnusable
from ..run.limits import Limits
from ..run.packets import OverallStop
from ..run.pages import noted, page_namespace
from .embed import thread_id

KEY = "settings"
"""Key in the store, beside the page texts of the thread."""


class Kept(NamedTuple):
    """Notes on one thread; they are deleted and copied with it."""

    store: BaseStore
    thread: str

    async def read(self) -> dict[str, str]:
        """The notes: `name`, `json` (the settings) and `failure`, as far as there are any."""
        return noted(await self.store.aget(page_namespace(thread_id(self.thread)), KEY)) or {}

    async def choices(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is given, and where nothing is, what was given for the thread before, if it is a setting still."""
        kept = _known(json.loads((await self.read()).get("json", "{}")), Context)
        limits = _known(kept.get("limits", {}), Limits)
        return {**kept, **given, "limits": {**limits, **given.get("limits", {})}}

    async def remember(self, choices: Mapping[str, Any], context: Context) -> None:
        """Keep the settings that were chosen, as the context holds them; a new run has not failed yet.

        What comes from the environment is left out: whatever it gives when the run is resumed holds then.
        """
        chosen: dict[str, Any] = dict.fromkeys(choices.keys() - {"data_dir"}, True)
        chosen["limits"] = set(choices["limits"])
        name = {} if self.thread == thread_id(self.thread) else {"name": self.thread}
        await self._write(json=context.model_dump_json(include=chosen), failure="", **name)

    async def note_stop(self, stop: OverallStop) -> None:
        """Keep why the run failed, if it did."""
        failure = stop.message if stop.stop_reason == "failed" else ""
        # A database that cannot be written is what the run has failed of.
        with suppress(DatabaseUnusable):
            if failure != (await self.read()).get("failure", ""):
                await self._write(failure=failure)

    async def _write(self, **values: str) -> None:
        value = {**await self.read(), **values}
        await self.store.aput(page_namespace(thread_id(self.thread)), KEY, value, index=False)


def _known(kept: Mapping[str, Any], settings: type[BaseModel]) -> dict[str, Any]:
    return {name: value for name, value in kept.items() if name in settings.model_fields}
