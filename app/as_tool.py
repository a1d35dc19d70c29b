"""Deep research as a LangChain tool for another agent."""

from __future__ import annotations

import contextvars
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.tools import BaseTool, InjectedToolArg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from pydantic import BaseModel, Field
from typing_extensions import TypedDict, Unpack, override

from ..core.errors import DeepResearchError
from ..core.events.packets import CallFinished, OverallStop, StopReason
from ..core.records.report import Report
from ..core.records.research import Strategy, total
from ..core.records.sources import Source
from ..core.settings.context import Context, Settings
from ..core.settings.limits import Limits
from ._loops import wait_for
from .embed import ResearchGraph, build_graph, thread_config
from .stream import apackets

_DESCRIPTION = (
    "Researches a question thoroughly, which takes minutes, and returns a report whose numbers in "
    "brackets are its sources. It sees nothing of this conversation."
)
_POSITION_PREFIXES = ("thread_id", "checkpoint", "langgraph_", "run_id", "task_id")
"""Prefixes of metadata keys that describe where in its graph the caller is; they do not apply to
the research."""
Checkpointer = BaseCheckpointSaver[Any] | str | Path | None


class CitedSource(TypedDict):
    """A source of the report."""

    n: int
    """Its number in the report."""
    title: str
    location: str
    """Where to open it: a web address or a file URI."""


def cited_sources(report: Report | None, sources: Mapping[str, Source]) -> list[CitedSource]:
    """Return the sources that a report cites, ordered by number."""
    cited = report.cited(sources) if report else []
    return [
        CitedSource(n=source.number, title=source.title, location=source.location)
        for source in cited
    ]


class RoleUsage(TypedDict):
    """Usage of the model in one role, including failed attempts."""

    role: str
    calls: int
    input_tokens: int
    """Including cached tokens."""
    cached_tokens: int
    output_tokens: int
    usd: float
    """Cost in US dollars; counts only calls whose price is known."""


class ToolResult(TypedDict):
    """Artifact that a tool call returns with its message."""

    report: str
    """The report as Markdown, or a clarifying question; empty if the research failed or was
    stopped."""
    sources: list[CitedSource]
    tool_calls: int
    """Number of calls to research tools."""
    usage: list[RoleUsage]
    status: StopReason
    thread: str
    """Thread id of the research."""


ContentAndArtifact = tuple[str | ToolMessage, ToolResult]
"""Output type of a LangChain tool with an artifact."""


def _result(
    state: Mapping[str, Any], status: StopReason, calls: Sequence[CallFinished], thread: str
) -> ToolResult:
    has_report = status in ("completed", "completed_with_gaps")
    report = ""
    if has_report or status == "waiting_for_user":
        report = state["messages"][-1].text
    usage = dict[str, RoleUsage]()
    for call in calls:
        if call.role not in usage:
            usage[call.role] = RoleUsage(
                role=call.role, calls=0, input_tokens=0, cached_tokens=0, output_tokens=0, usd=0
            )
        used = usage[call.role]
        used["calls"] += 1
        used["input_tokens"] += call.input_tokens
        used["cached_tokens"] += call.cached_tokens
        used["output_tokens"] += call.output_tokens
        used["usd"] += call.usd
    return ToolResult(
        report=report,
        sources=cited_sources(state["report"] if has_report else None, state.get("sources", {})),
        tool_calls=total(state.get("spending", {})).tool_calls,
        usage=list(usage.values()),
        status=status,
        thread=thread,
    )


def _caller_writer() -> Callable[[dict[str, Any]], object]:
    """Return a function that writes to the custom stream of the calling graph; outside of a graph
    it does nothing."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):
        return lambda _: None
    # The writer looks up its node in the context variables.
    context = contextvars.copy_context()
    return lambda data: context.run(writer, data)


def deep_research_tool(
    strategy: Strategy = "orchestrated",
    *,
    max_tool_calls: int | None = 50,
    name: str = "deep_research_tool",
    checkpointer: Checkpointer = None,
    **settings: Unpack[Settings],
) -> BaseTool:
    """Return a LangChain tool that researches a question and returns the report as Markdown.

    Each call runs on a new thread, stored by `checkpointer` (as in `build_graph`) rather than by
    the caller's; the artifact of the message is a `ToolResult`. A run makes at most
    `max_tool_calls` tool calls (None: no limit); a `max_tool_calls` in `limits` takes precedence.
    The other `settings` are the fields of `Context`. The tool asks questions only if `clarify` or
    `review_plan` allows it and there is a checkpointer.

    The caller's custom stream gets the packets as `{"type": "deep_research", "tool_call_id",
    "packet"}` and at the end `{"type": "tool_done", "tool_call_id", "name", "tool_calls", "usage",
    "status"}`.

    Raises `UserMistake` for a wrong setting; later errors are returned to the calling agent as one
    line.
    """
    limits = settings.get("limits", {})
    if isinstance(limits, Limits):
        limits = limits.model_dump(exclude_unset=True)
    limits = {"max_tool_calls": max_tool_calls, **limits}
    context = Context.read({"clarify": "assume", **settings, "limits": limits})
    if checkpointer is None:
        # Without a checkpointer, a run cannot pause for an answer.
        context = context.model_copy(update={"review_plan": False})
        if context.clarify == "ask":
            context = context.model_copy(update={"clarify": "assume"})
    # Reports wrong arguments now rather than inside the agent.
    build_graph(strategy, checkpointer=checkpointer)
    return DeepResearchTool(
        name=name,
        description=_DESCRIPTION,
        args_schema=Question,
        response_format="content_and_artifact",
        strategy=strategy,
        context=context,
        checkpointer=checkpointer,
    )


class Question(BaseModel):
    """Arguments of the tool."""

    question: str = Field(description="The question, in words that can be understood alone.")
    tool_call_id: Annotated[str, InjectedToolArg] = ""


class DeepResearchTool(BaseTool):
    """A tool that researches the question of each call on a thread of its own; made by
    `deep_research_tool`."""

    strategy: Strategy
    context: Context
    checkpointer: Checkpointer

    @override
    def run(
        self,
        tool_input: str | dict[str, Any],
        *args: Any,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        arguments = _with_id(tool_input, tool_call_id)
        return super().run(arguments, *args, tool_call_id=tool_call_id, **kwargs)

    @override
    async def arun(
        self,
        tool_input: str | dict[str, Any],
        *args: Any,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        arguments = _with_id(tool_input, tool_call_id)
        return await super().arun(arguments, *args, tool_call_id=tool_call_id, **kwargs)

    @override
    def _run(self, question: str, tool_call_id: str) -> ContentAndArtifact:
        graph = self._graph()
        return wait_for(self._research(graph, question, tool_call_id), graph._loop())

    @override
    async def _arun(self, question: str, tool_call_id: str) -> ContentAndArtifact:
        return await self._research(self._graph(), question, tool_call_id)

    async def _research(
        self, graph: ResearchGraph, question: str, call_id: str
    ) -> ContentAndArtifact:
        """Research a question on a new thread, with the caller's stream, callbacks, tags and
        metadata.

        `call_id` is the id of the call; empty if the caller passed none. Our own errors become the
        result; third-party errors are raised. Cancellation stops the run.
        """
        thread = str(uuid.uuid4())
        write = _caller_writer()
        caller = ensure_config()
        metadata = dict[str, Any]()
        for key, value in caller.get("metadata", {}).items():
            if not key.startswith(_POSITION_PREFIXES):
                metadata[key] = value
        config: RunnableConfig = {
            "callbacks": caller.get("callbacks"),
            "tags": caller.get("tags", []),
            "metadata": metadata,
            "configurable": {"thread_id": thread},
        }
        failure = ""
        stop: OverallStop | None = None
        calls: list[CallFinished] = []
        # Otherwise LangGraph would use the thread, checkpointer and runtime of the caller's config.
        token = var_child_runnable_config.set(None)
        try:
            async with aclosing(apackets(graph, question, config, context=self.context)) as packets:
                async for packet in packets:
                    if isinstance(packet, OverallStop):
                        stop = packet
                    elif isinstance(packet, CallFinished):
                        calls.append(packet)
                    data = packet.model_dump(mode="json")
                    write({"type": "deep_research", "tool_call_id": call_id, "packet": data})
        except DeepResearchError:
            failure = stop.message if stop else ""
        finally:
            state = (await graph.aget_state(thread_config(thread))).values
            var_child_runnable_config.reset(token)
            result = _result(state, stop.stop_reason if stop else "failed", calls, thread)
            write(
                {
                    "type": "tool_done",
                    "tool_call_id": call_id,
                    "name": self.name,
                    "tool_calls": result["tool_calls"],
                    "usage": result["usage"],
                    "status": result["status"],
                }
            )
        if not failure:
            return result["report"], result
        text = f"The research failed: {failure}"
        if not call_id:
            return text, result
        # If the error were raised, LangChain would turn it into a message without the artifact.
        message = ToolMessage(
            text, artifact=result, tool_call_id=call_id, name=self.name, status="error"
        )
        return message, result

    def _graph(self) -> ResearchGraph:
        """Return a graph for one call; without a checkpointer, its state is freed after the
        call."""
        return build_graph(self.strategy, checkpointer=self.checkpointer or InMemorySaver())


def _with_id(tool_input: str | dict[str, Any], tool_call_id: str | None) -> dict[str, Any]:
    """Add the id of the call to the arguments; LangChain's own injection rejects calls without an
    id."""
    if isinstance(tool_input, str):
        tool_input = {"question": tool_input}
    return {**tool_input, "tool_call_id": tool_call_id or ""}
