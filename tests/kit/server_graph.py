"""The graph that `langgraph.json` serves, with extractive models that note each call and can be
made to wait; and the graph with the operator's models, on a clock that a test moves."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, get_args

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langgraph.config import get_config
from typing_extensions import override

from deep_research.app.server import graphs as server
from deep_research.core.errors import ModelFailed
from deep_research.core.models.extractive.chat import ExtractiveChatModel
from deep_research.core.settings.context import Context, Role, SystemClock
from deep_research.core.settings.server_settings import UserSettings

FOLDER = "SERVER_GRAPH_FOLDER"
"""Environment variable that names the folder of the notes and of the word to wait for."""
NOTES = "calls.jsonl"
HOLD = "hold"
"""A model waits as long as this file exists and its first message begins with what the file says.
"""
FAIL = "fail"
"""The models of the role that this file names fail, if it exists."""
MOVED = "moved"
"""The clock of runs is ahead by the seconds in this file, if it exists."""
PAUSE = 0.02


class NotedModel(ExtractiveChatModel):
    """Writes each call into a file before it answers, and answers when it is let."""

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        await self._note(messages)
        return await super()._agenerate(messages, stop, run_manager, **kwargs)

    async def _note(self, messages: list[BaseMessage]) -> None:
        first = next(message.text for message in messages if isinstance(message, HumanMessage))
        note = {
            "thread": get_config()["configurable"]["thread_id"],
            "role": self.role,
            "first": first,
            "prompt": "\n".join(message.text for message in messages),
            "recursion_limit": get_config()["recursion_limit"],
        }
        await asyncio.to_thread(_write, json.dumps(note))
        if await asyncio.to_thread(_fails, self.role):
            raise ModelFailed("The server of the model is away.")
        while await asyncio.to_thread(_is_held, first):
            await asyncio.sleep(PAUSE)


class NotedSettings(UserSettings):
    """Settings whose models are noted ones."""

    @property
    def operator(self) -> Context:
        return super().operator.model_copy(
            update={"models": {role: NotedModel(role=role) for role in get_args(Role)}}
        )


class FileClock(SystemClock):
    """A clock that a test moves by a file."""

    _ahead = 0.0

    @override
    def seconds(self) -> float:
        return super().seconds() + self._ahead

    @override
    async def sleep(self, seconds: float) -> None:
        end = self.seconds() + seconds
        while self.seconds() < end:
            await asyncio.sleep(PAUSE)
            self._ahead = await asyncio.to_thread(_seconds_ahead)


CLOCK = FileClock()


class ClockedSettings(UserSettings):
    """Settings whose runs go by the clock of the file."""

    @property
    def operator(self) -> Context:
        return super().operator.model_copy(update={"clock": CLOCK})


def _seconds_ahead() -> float:
    try:
        return float((Path(os.environ[FOLDER]) / MOVED).read_text("utf-8") or 0)
    except FileNotFoundError:
        return 0.0


def _write(note: str) -> None:
    # In one write, so that who reads meanwhile, or kills the server, never leaves or meets half a
    # line.
    with (Path(os.environ[FOLDER]) / NOTES).open("ab", buffering=0) as notes:
        notes.write(f"{note}\n".encode())


def _fails(role: str) -> bool:
    try:
        return (Path(os.environ[FOLDER]) / FAIL).read_text("utf-8") == role
    except FileNotFoundError:
        return False


def _is_held(first: str) -> bool:
    try:
        return first.startswith((Path(os.environ[FOLDER]) / HOLD).read_text("utf-8"))
    except FileNotFoundError:
        return False


deep_research = server.deep_research.copy({"context_schema": NotedSettings})
on_file_clock = server.deep_research.copy({"context_schema": ClockedSettings})
