"""A chat model that reads instead of writing: it plans, searches and quotes by fixed rules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from ...run.context import Role
from ..chunks import complete, in_chunks
from .clarifier import clarify
from .finding import write_finding
from .forms import FORMS, fill_in
from .orchestrator import next_tasks
from .planner import plan
from .reply import Reply
from .researcher import next_round
from .writer import write_report

CHUNK_CHARACTERS = 40
WINDOW = 10_000_000
ANSWERS: dict[Role, Callable[[Sequence[BaseMessage]], Reply]] = {
    "clarifier": clarify,
    "planner": plan,
    "orchestrator": next_tasks,
    "researcher": write_finding,
    "writer": write_report,
}
"""What each role does where no form is to be filled in; whoever is missing here only fills in forms."""


class ExtractiveChatModel(BaseChatModel):
    """Plays one role of a run from nothing but its messages; the same messages always get the same answer."""

    role: Role
    """The role to play."""

    @property
    def _llm_type(self) -> str:
        return "extractive"

    @override
    def _resolve_model_profile(self) -> ModelProfile:
        return ModelProfile(max_input_tokens=WINDOW, tool_calling=True, reasoning_output=False)

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The same model with tools; see `BaseChatModel.bind_tools`."""
        names = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        return self.bind(tool_names=names, tool_choice=tool_choice, **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, kwargs.get("tool_names", ())))])

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in in_chunks(self._answer(messages, kwargs.get("tool_names", ())), CHUNK_CHARACTERS):
            yield ChatGenerationChunk(message=chunk)

    def _answer(self, messages: list[BaseMessage], tools: Collection[str]) -> AIMessage:
        reply = self._reply(messages, tools)
        if isinstance(reply, str):
            return complete(AIMessage(content=reply), messages)
        digest = _digest(messages)
        calls = [
            tool_call(name=asked.name, args=asked.arguments, id=f"call-{digest}-{position}")
            for position, asked in enumerate(reply, start=1)
        ]
        return complete(AIMessage(content="", tool_calls=calls), messages)

    def _reply(self, messages: list[BaseMessage], tools: Collection[str]) -> Reply:
        if form := next((name for name in tools if name in FORMS), ""):
            return [fill_in(form, messages)]
        if self.role == "researcher" and tools:
            return next_round(messages, tools)
        return ANSWERS[self.role](messages)


def _digest(messages: Sequence[BaseMessage]) -> str:
    """A short name of this turn, so that ids do not repeat within a conversation, nor in the next one of its thread."""
    seen = hashlib.sha256()
    for message in messages:
        seen.update(f"{message.type}\0{message.text}\0".encode())
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            seen.update(f"{call['id']}\0".encode())
    return seen.hexdigest()[:10]
