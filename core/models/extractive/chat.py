"""The chat model: facts go in beside the messages, a message with words or tool calls comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from textwrap import shorten
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from ...run import tool_names
from ...run.context import Role
from ..request import Facts
from . import roles
from .roles import Arguments, ExtractiveCall

TITLE_CHARACTERS = 60
EMPTY: Mapping[str, Any] = {"string": "", "array": [], "boolean": False, "number": 0, "integer": 0, "object": {}}
WINDOW = 10_000_000
CALLED = tool_names.OURS | {tool_names.GENERATE_PLAN, tool_names.LOOK_UP, tool_names.RESEARCH_AGENT}
"""Tools that a role calls by its own choice; any other one is a form that is to be filled in."""
ANSWERS: dict[Role, Callable[[Facts], str | list[ExtractiveCall]]] = {
    "clarifier": roles.clarify,
    "planner": roles.plan,
    "orchestrator": roles.next_tasks,
    "researcher": roles.write_finding,
    "writer": roles.write_report,
}
"""What each role does where no form is to be filled in; whoever is missing here only fills in forms."""


def make_plan(facts: Facts) -> Arguments:
    """Return a plan with a step for each part of the request."""
    parts, steps = roles.parts_of(facts), roles.steps_of(facts)
    # Where several parts make one step, it is taken apart again when it is carried out.
    tasks = roles.tasks_of(parts) if len(steps) == len(parts) else steps
    return {
        "steps": [
            {"title": shorten(step, TITLE_CHARACTERS, placeholder="…"), "task": task, "requires_search": True}
            for step, task in zip(steps, tasks, strict=True)
        ]
    }


def record_summary(facts: Facts) -> Arguments:
    """Return the user's own words as the summary."""
    return {"summary": " ".join(facts.request.split())}


def record_round(facts: Facts) -> Arguments:
    """Return what the task asks for as the first query; then what the results quote for it.

    It is complete as soon as something was learned: a second search would show the same, as the search of documents
    follows names by itself. What no document says is open.
    """
    part = roles.read_task(facts.task)
    if not facts.used:
        return {"next_queries": roles.queries_for(part)[:1]}
    answer, further, absent = roles.answer_to(facts)
    quotes = [one for one in (*answer, *further) if not absent]
    # The sentence that says what its pronoun means stands before a unit, each once.
    learned = dict.fromkeys((one.number, text) for one in quotes for text in (one.meant, one.text) if text)
    is_known = bool(learned) or any(one.document for one in facts.learnings)
    return {
        "learnings": [{"text": text, "document": number} for number, text in learned],
        "is_complete": is_known,
        "gaps": [] if is_known else [{"question": part.text, "relevance": 1.0}],
        "completeness": float(is_known),
    }


FORMS: dict[str, Callable[[Facts], Arguments]] = {
    tool_names.MAKE_PLAN: make_plan,
    tool_names.RECORD_SUMMARY: record_summary,
    tool_names.RECORD_ROUND: record_round,
}
"""Who fills in which; what a form that is not here requires is left empty."""


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
        """Return the same model with tools; see `BaseChatModel.bind_tools`."""
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
        # Whoever calls it by itself has nothing but messages.
        facts = facts or Facts(request=messages[-1].text if messages else "")
        reply = self._reply(facts, {} if tool_choice == "none" else {tool["name"]: tool for tool in tools})
        if isinstance(reply, str):
            message = AIMessage(content=reply, response_metadata={"finish_reason": "stop"})
        else:
            # Ids repeat neither in a conversation nor in the next of its thread.
            seen = [(one.type, one.text, getattr(one, "tool_calls", ())) for one in messages]
            turn = hashlib.sha256(repr(seen).encode()).hexdigest()[:10]
            calls = [
                tool_call(name=asked.name, args=asked.arguments, id=f"call-{turn}-{place}")
                for place, asked in enumerate(reply, 1)
            ]
            message = AIMessage(content="", tool_calls=calls, response_metadata={"finish_reason": "tool_calls"})
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _reply(self, facts: Facts, tools: Mapping[str, Mapping[str, Any]]) -> str | list[ExtractiveCall]:
        # A form is the only tool of its call; beside tools of a run stand those that an app has passed.
        if tools and CALLED.isdisjoint(tools):
            name, form = next(iter(tools.items()))
            known = FORMS.get(name)
            return [ExtractiveCall(name, known(facts) if known else _empty(form.get("parameters", {})))]
        if self.role == "researcher" and tools:
            return roles.next_round(facts, tools)
        reply = ANSWERS[self.role](facts)
        if self.role == "clarifier" and tool_names.LOOK_UP in tools and not isinstance(reply, str):
            return roles.look_up(facts, tools)
        return reply


def _empty(schema: Mapping[str, Any]) -> Arguments:
    properties = schema.get("properties", {})
    return {name: EMPTY.get(properties.get(name, {}).get("type", "string"), "") for name in schema.get("required", ())}
