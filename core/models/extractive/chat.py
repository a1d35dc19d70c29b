"""The chat model: facts go in beside the messages, a message with words or tool calls comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput, ModelProfile
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from ...run import tool_names
from ...run.context import Role
from ..request import Facts
from .choosing import Chooser
from .roles import (
    Call,
    choose,
    clarify,
    look_up,
    next_round,
    next_tasks,
    parts_of,
    plan,
    queries_for,
    read_task,
    steps_of,
    task_for,
    write_finding,
    write_report,
)
from .units import points_back

Arguments: TypeAlias = dict[str, Any]

TITLE_CHARACTERS = 60
WELL_SOURCED = 3
"""Documents from which on the quality of what was learned is 1."""
LEAST_QUALITY = 0.5
EMPTY: Mapping[str, Any] = {"string": "", "array": [], "boolean": False, "number": 0, "integer": 0, "object": {}}
CHUNK_CHARACTERS = 40
WINDOW = 10_000_000
NO_FORMS = frozenset({
    tool_names.GENERATE_PLAN,
    tool_names.LOOK_UP,
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


def fill_in(name: str, schema: Mapping[str, Any], facts: Facts) -> Arguments:
    """Return what is handed in; `schema` is that of the form's arguments."""
    known = FORMS.get(name)
    return known(facts) if known else _empty(schema)


def _empty(schema: Mapping[str, Any]) -> Arguments:
    properties = schema.get("properties", {})
    return {name: EMPTY.get(properties.get(name, {}).get("type", "string"), "") for name in schema.get("required", ())}


def make_plan(facts: Facts) -> Arguments:
    """Return a plan with a step for each part of the request."""
    parts, steps = parts_of(facts), steps_of(facts)
    tasks = [task_for(part, place, len(parts)) for place, part in enumerate(parts, 1)]
    # Where several parts make one step, it is taken apart again when it is carried out.
    if len(steps) != len(parts):
        tasks = steps
    return {
        "steps": [
            {"title": _title(step), "task": task, "requires_search": True}
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
    task = read_task(facts.task)
    if not facts.used:
        return {"next_queries": queries_for(task)[:1]}
    learned = _quoted(facts)
    documents = {one["document"] for one in learned} | {one.document for one in facts.learnings} - {None}
    quality = max(LEAST_QUALITY, min(1.0, round(len(documents) / WELL_SOURCED, 2))) if documents else 0.0
    return {
        "learnings": learned,
        "is_complete": bool(documents),
        "gaps": [] if documents else [{"question": task.part.text, "relevance": 1.0}],
        "completeness": 1.0 if documents else 0.0,
        "quality": quality,
    }


def _quoted(facts: Facts) -> list[Arguments]:
    task = read_task(facts.task)
    chooser = Chooser(facts.documents, task.part)
    answer, further = choose(chooser, task)
    if (task.part.is_question or not answer) and chooser.missing(answer):
        return []
    said: set[str] = set()
    found: list[Arguments] = []
    for one in (*answer, *further):
        # The sentence that says what its pronoun means stands before a unit, each once.
        before = one.unit.before if points_back(one.text) else ""
        texts = [text for text in (before, one.text) if text and text not in said]
        said.update(texts)
        if texts:
            found.append({"text": " ".join(texts), "document": one.number})
    return found


FORMS: dict[str, Callable[[Facts], Arguments]] = {
    tool_names.MAKE_PLAN: make_plan,
    tool_names.RECORD_SUMMARY: record_summary,
    tool_names.RECORD_ROUND: record_round,
}
"""Who fills in which."""


def _title(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    return f"{line[:TITLE_CHARACTERS].rpartition(' ')[0] or line[:TITLE_CHARACTERS]}…"


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
        answer = self._answer(messages, **kwargs)
        pieces = [answer.text[at : at + CHUNK_CHARACTERS] for at in range(0, len(answer.text), CHUNK_CHARACTERS)]
        yield from (ChatGenerationChunk(message=AIMessageChunk(content=piece)) for piece in pieces)
        calls, metadata = answer.tool_calls, answer.response_metadata
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_calls=calls, response_metadata=metadata))

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
        # A form is the only tool of its call; beside tools of a run stand those that an app has passed.
        if tools and not NO_FORMS.intersection(tools):
            form = next(iter(tools))
            return [Call(form, fill_in(form, tools[form].get("parameters", {}), facts))]
        if self.role == "researcher" and tools:
            return next_round(facts, tools)
        reply = ANSWERS[self.role](facts)
        if self.role == "clarifier" and tool_names.LOOK_UP in tools and not isinstance(reply, str):
            return look_up(facts, tools)
        return reply


def _digest(messages: Sequence[BaseMessage]) -> str:
    """Return a short name of this turn, so that ids do not repeat in a conversation or in the next of its thread."""
    seen = hashlib.sha256()
    for message in messages:
        seen.update(f"{message.type}\0{message.text}\0".encode())
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            seen.update(f"{call['id']}\0".encode())
    return seen.hexdigest()[:10]
