"""The chat model: facts go in beside the messages, a message with words or tool calls comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
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

from ...run import tool_names
from ...run.context import Role
from ..request import Facts
from ..scripted import in_chunks
from .forms import fill_in
from .roles import Call, clarify, next_round, next_tasks, plan, write_finding, write_report

CHUNK_CHARACTERS = 40
WINDOW = 10_000_000
NO_FORMS = frozenset({
    tool_names.GENERATE_PLAN,
    tool_names.RESEARCH_AGENT,
    tool_names.GENERATE_REPORT,
    tool_names.THINK_TOOL,
    tool_names.INTERNAL_SEARCH,
    tool_names.WEB_SEARCH,
    tool_names.OPEN_URL,
})  # fmt: skip
"""Tools that a role calls by its own choice; any other one is a form that is to be filled in."""
ANSWERS: dict[Role, Callable[[Facts], str | list[Call]]] = {
    "clarifier": clarify,
    "planner": plan,
    "orchestrator": next_tasks,
    "researcher": write_finding,
    "writer": write_report,
}
"""What each role does where no form is to be filled in; whoever is missing here only fills in forms."""


class ExtractiveChatModel(BaseChatModel):
    """Plays one role of a run from facts; the same facts get the same answer, however they are put into words."""

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
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self.bind(tools=functions, tool_choice=tool_choice, **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, **kwargs))])

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in in_chunks(self._answer(messages, **kwargs), CHUNK_CHARACTERS):
            yield ChatGenerationChunk(message=chunk)

    def _answer(
        self,
        messages: Sequence[BaseMessage],
        facts: Facts | None = None,
        tools: Sequence[dict[str, Any]] = (),
        tool_choice: str | None = None,
        **_: Any,
    ) -> AIMessage:
        # Whoever calls it by itself has nothing but messages.
        facts = facts or Facts(request=messages[-1].text if messages else "")
        reply = self._reply(facts, {} if tool_choice == "none" else {tool["name"]: tool for tool in tools})
        if isinstance(reply, str):
            return AIMessage(content=reply, response_metadata={"finish_reason": "stop"})
        digest = _digest(messages)
        return AIMessage(
            content="",
            response_metadata={"finish_reason": "tool_calls"},
            tool_calls=[
                tool_call(name=asked.name, args=asked.arguments, id=f"call-{digest}-{place}")
                for place, asked in enumerate(reply, 1)
            ],
        )

    def _reply(self, facts: Facts, tools: dict[str, dict[str, Any]]) -> str | list[Call]:
        if form := next((name for name in tools if name not in NO_FORMS), ""):
            return [Call(form, fill_in(form, tools[form].get("parameters", {}), facts))]
        if self.role == "researcher" and tools:
            return next_round(facts, tools)
        return ANSWERS[self.role](facts)


def _digest(messages: Sequence[BaseMessage]) -> str:
    """A short name of this turn, so that ids do not repeat within a conversation, nor in the next one of its thread."""
    seen = hashlib.sha256()
    for message in messages:
        seen.update(f"{message.type}\0{message.text}\0".encode())
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            seen.update(f"{call['id']}\0".encode())
    return seen.hexdigest()[:10]
