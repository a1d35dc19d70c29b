"""The extractive chat model: answers from the `Facts` of a request instead of its messages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from textwrap import shorten
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from ...records import tool_names
from ...settings.context import Role
from ..request import Facts
from . import _roles as roles
from ._parts import title_of
from ._roles import ExtractiveCall, ToolArguments

_TITLE_CHARACTERS = 60
"""Maximum characters of the title of a plan's step."""
_EMPTY: Mapping[str, Any] = {
    "string": "",
    "array": [],
    "boolean": False,
    "number": 0,
    "integer": 0,
    "object": {},
}
"""Values of the required fields of an unknown form, by JSON type."""
_WINDOW = 10_000_000
"""Stated window in tokens; the model has none, since it reads no prompt."""
_CALLED = tool_names.OURS | {
    tool_names.GENERATE_PLAN,
    tool_names.LOOK_UP,
    tool_names.RESEARCH_AGENT,
}
"""Tools that roles choose from; any other tool is a form that must be filled in."""
_ANSWERS: dict[Role, Callable[[Facts], str | list[ExtractiveCall]]] = {
    "clarifier": roles.clarify,
    "planner": roles.plan,
    "orchestrator": roles.next_tasks,
    "researcher": roles.write_finding,
    "writer": roles.write_report,
}
"""Functions that answer for a role if there is no form to fill in; the other roles only fill in
forms."""


def make_plan(facts: Facts) -> ToolArguments:
    """Return a plan with a step for each part of the request, or several parts in a step if there
    are too many."""
    parts = roles.parts_of(facts)
    texts = roles.steps_of(facts)
    # A step that joins several parts is split again (`parts_of_task`).
    tasks = roles.tasks_of(parts) if len(texts) == len(parts) else texts
    steps = list[dict[str, Any]]()
    for text, task in zip(texts, tasks, strict=True):
        title = shorten(text, _TITLE_CHARACTERS, placeholder="…")
        steps.append({"title": title, "task": task, "requires_search": True})
    return {"title": title_of(facts.request), "steps": steps}


def record_summary(facts: Facts) -> ToolArguments:
    """Return the user's messages as the summary."""
    return {"summary": " ".join(facts.request.split())}


def record_round(facts: Facts) -> ToolArguments:
    """Return a search query for the task; once a search was made, the quotes that answer the task.

    One search is enough, since the search in documents follows names by itself. If no document
    answers the task, it becomes a gap.
    """
    parts = roles.parts_of_task(facts.task, facts)
    if not facts.used:
        queries = list[str]()
        for part in parts:
            queries.append(roles.queries_for(part)[0])
        return {"next_queries": queries}
    learned = dict[tuple[int, str], None]()
    gaps = list[dict[str, Any]]()
    for part in parts:
        units = roles.answer_to(part, facts.documents)
        for unit in units:
            # The sentence to which its pronoun refers comes before the unit; each text is listed
            # once.
            for text in filter(None, (unit.meant, unit.text)):
                learned.setdefault((unit.number, text))
        if not units:
            gaps.append({"question": part.text, "relevance": 1.0})
    if any(learning.document for learning in facts.learnings):
        gaps = []
    is_known = not gaps
    return {
        "learnings": [{"text": text, "document": number} for number, text in learned],
        "is_complete": is_known,
        "gaps": gaps,
        "completeness": float(is_known),
    }


_FORMS: dict[str, Callable[[Facts], ToolArguments]] = {
    tool_names.MAKE_PLAN: make_plan,
    tool_names.RECORD_SUMMARY: record_summary,
    tool_names.RECORD_ROUND: record_round,
}
"""Functions that fill in the forms, by their names; any other form gets empty values."""


class ExtractiveChatModel(BaseChatModel):
    """Answers for one role of a run, from the `Facts` of the request alone."""

    role: Role

    @property
    def _llm_type(self) -> str:
        return "extractive"

    @override
    def _resolve_model_profile(self) -> ModelProfile:
        return ModelProfile(max_input_tokens=_WINDOW, tool_calling=True, reasoning_output=False)

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with tools bound; see `BaseChatModel.bind_tools`."""
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self.bind(tools=functions, tool_choice=tool_choice, **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        facts: Facts | None = None,
        tools: Sequence[dict[str, Any]] = (),
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        # Apps that call the model directly pass only messages.
        facts = facts or Facts(request=messages[-1].text if messages else "")
        offered = dict[str, dict[str, Any]]()
        if tool_choice != "none":
            for tool in tools:
                offered[tool["name"]] = tool
        reply = self._reply(facts, offered)
        if isinstance(reply, str):
            message = AIMessage(content=reply, response_metadata={"finish_reason": "stop"})
        else:
            message = _calling(reply, messages)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _reply(
        self, facts: Facts, tools: Mapping[str, Mapping[str, Any]]
    ) -> str | list[ExtractiveCall]:
        """Return a text, or calls of these tools (schemas by name)."""
        # A form is the only tool of its request, whereas a role may also be offered tools of an
        # app.
        if tools and _CALLED.isdisjoint(tools):
            name, form = next(iter(tools.items()))
            if name in _FORMS:
                return [ExtractiveCall(name, _FORMS[name](facts))]
            return [ExtractiveCall(name, _empty_values(form.get("parameters", {})))]
        if self.role == "researcher" and tools:
            return roles.next_round(facts, tools)
        reply = _ANSWERS[self.role](facts)
        if self.role == "clarifier" and tool_names.LOOK_UP in tools and not isinstance(reply, str):
            return roles.look_up(facts, tools)
        return reply


def _calling(reply: Sequence[ExtractiveCall], messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the message that makes these calls, in answer to `messages`."""
    # The ids of calls must be unique in a thread.
    seen = list[tuple[str, str, Any]]()
    for message in messages:
        seen.append((message.type, message.text, getattr(message, "tool_calls", ())))
    turn = hashlib.sha256(repr(seen).encode()).hexdigest()[:10]
    calls = list[ToolCall]()
    for number, (name, arguments) in enumerate(reply, 1):
        calls.append(tool_call(name=name, args=arguments, id=f"call-{turn}-{number}"))
    return AIMessage(
        content="", tool_calls=calls, response_metadata={"finish_reason": "tool_calls"}
    )


def _empty_values(schema: Mapping[str, Any]) -> ToolArguments:
    """Return empty values for the required fields of a form that the model does not know."""
    properties = schema.get("properties", {})
    values: ToolArguments = {}
    for key in schema.get("required", ()):
        kind = properties.get(key, {}).get("type")
        values[key] = _EMPTY.get(kind or "string", "")
    return values
