"""The whole research as a tool of another agent."""

from __future__ import annotations

import asyncio
import contextvars
import uuid
from collections.abc import Callable, Mapping
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

from ..core.records.report import Report
from ..core.records.sources import Source
from ..core.run.context import Context, Settings
from ..core.run.errors import DeepResearchError
from ..core.run.events.packets import CallFinished, OverallStop, StopReason
from ..core.run.limits import Limits
from ..core.run.settings import read_context
from ..core.run.spending import total
from .embed import ResearchGraph, build_graph, thread_config
from .loops import wait_for
from .stream import apackets
from .words import Strategy

DESCRIPTION = (
    "Researches a question thoroughly, which takes minutes, and returns a report whose numbers in brackets are its "
    "sources. It sees nothing of this conversation."
)
PLACE = ("thread_id", "checkpoint", "langgraph_", "run_id", "task_id")
"""How the names of metadata begin that say where in a graph something runs."""
Checkpointer = BaseCheckpointSaver[Any] | str | Path | None


class CitedSource(TypedDict):
    """A source of the report."""

    n: int
    """Its number in the report."""
    title: str
    location: str
    """Where a reader opens it: a web address, or the URI of a file."""


def cited_sources(report: Report | None, sources: Mapping[str, Source]) -> list[CitedSource]:
    """Return the sources that a report cites, in the order of their numbers."""
    cited = report.cited(sources) if report else []
    return [CitedSource(n=one.number, title=one.title, location=one.location) for one in cited]


class RoleUsage(TypedDict):
    """What the model of one role was used for, tries that failed included."""

    role: str
    calls: int
    input_tokens: int
    """Cached ones included."""
    cached_tokens: int
    output_tokens: int
    usd: float
    """Money in US dollars, as far as it is known."""


class ToolResult(TypedDict):
    """What a call of the tool came to."""

    report: str
    """The report as Markdown, or what was asked back; empty if the research failed or was stopped."""
    sources: list[CitedSource]
    tool_calls: int
    """Calls of research tools."""
    usage: list[RoleUsage]
    status: StopReason
    thread: str
    """Id of the thread of the research."""


ContentAndArtifact = tuple[str | ToolMessage, ToolResult]
"""What the tool gives back, in the form in which LangChain takes it: a content and an artifact."""


class NestedResearch:
    """One research on behalf of a caller, whose custom stream shows what happens."""

    def __init__(self, graph: ResearchGraph, context: Context, tool: str, call_id: str) -> None:
        """Take a graph with a checkpointer, the name of the tool, and the id of its call; empty where there is none."""
        self._graph, self._context, self._tool, self._call_id = graph, context, tool, call_id
        self._write = caller_writer()
        self._calls: list[CallFinished] = []
        self._stop: OverallStop | None = None
        self._thread = str(uuid.uuid4())

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop on which it has to run."""
        return self._graph._loop()

    async def run(self, question: str) -> ContentAndArtifact:
        """Run it on a thread of its own; a cancellation stops it, and errors that are not ours are raised.

        The caller's callbacks see what it does, under the caller's tags and metadata.
        """
        config: RunnableConfig = {**_of_caller(ensure_config()), "configurable": {"thread_id": self._thread}}
        # Where LangGraph finds the caller's config, it takes thread, checkpointer and time from it.
        context = contextvars.copy_context()
        context.run(var_child_runnable_config.set, None)
        return await asyncio.create_task(self._run(question, config), context=context)

    async def _run(self, question: str, config: RunnableConfig) -> ContentAndArtifact:
        failure = ""
        try:
            async with aclosing(apackets(self._graph, question, config, context=self._context)) as packets:
                async for packet in packets:
                    if isinstance(packet, OverallStop):
                        self._stop = packet
                    elif isinstance(packet, CallFinished):
                        self._calls.append(packet)
                    data = packet.model_dump(mode="json")
                    self._write({"type": "deep_research", "tool_call_id": self._call_id, "packet": data})
        except DeepResearchError:
            failure = self._stop.message if self._stop else ""
        finally:
            state = (await self._graph.aget_state(thread_config(self._thread))).values
            result = self._result(state)
            used = {name: result[name] for name in ("tool_calls", "usage", "status")}
            self._write({"type": "tool_done", "tool_call_id": self._call_id, "name": self._tool, **used})
        if not failure:
            return result["report"], result
        text = f"The research failed: {failure}"
        if not self._call_id:
            return text, result
        # An error that LangChain turns into a message would lose the artifact.
        return ToolMessage(text, artifact=result, tool_call_id=self._call_id, name=self._tool, status="error"), result

    def _result(self, state: Mapping[str, Any]) -> ToolResult:
        status: StopReason = self._stop.stop_reason if self._stop else "failed"
        has_report = status in ("completed", "completed_with_gaps")
        report: Report | None = state["report"] if has_report else None
        return ToolResult(
            report=state["messages"][-1].text if has_report or status == "waiting_for_user" else "",
            sources=cited_sources(report, state.get("sources", {})),
            tool_calls=total(state.get("spending", {})).tool_calls,
            usage=[self._usage(role) for role in dict.fromkeys(call.role for call in self._calls)],
            status=status,
            thread=self._thread,
        )

    def _usage(self, role: str) -> RoleUsage:
        calls = [call for call in self._calls if call.role == role]
        return RoleUsage(
            role=role,
            calls=len(calls),
            input_tokens=sum(call.input_tokens for call in calls),
            cached_tokens=sum(call.cached_tokens for call in calls),
            output_tokens=sum(call.output_tokens for call in calls),
            usd=sum(call.usd for call in calls),
        )


def _of_caller(config: RunnableConfig) -> RunnableConfig:
    """Return what a caller's config says to those who watch, without its place in the caller's graph."""
    metadata = {key: value for key, value in config.get("metadata", {}).items() if not key.startswith(PLACE)}
    return {"callbacks": config.get("callbacks"), "tags": config.get("tags", []), "metadata": metadata}


def caller_writer() -> Callable[[dict[str, Any]], object]:
    """Return what writes to the custom stream of the graph that calls this; nothing is written where there is none."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):
        return lambda _: None
    # The writer looks up in the context in which node it writes.
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
    """Return a LangChain tool that runs a whole research and gives another agent its report as Markdown.

    Every call has a thread of its own, which `checkpointer` keeps (as in `build_graph`) and the caller's does not; the
    artifact of the message is a `ToolResult`. A research makes at most `max_tool_calls` calls of its own tools (none:
    any number); a `max_tool_calls` among the `limits` wins. The other `settings` are the fields of `Context`. Nobody is
    asked back, unless `clarify` or `review_plan` says so and there is a checkpointer.

    The caller's custom stream gets the packets as `{"type": "deep_research", "tool_call_id", "packet"}` and at the end
    `{"type": "tool_done", "tool_call_id", "name", "tool_calls", "usage", "status"}`.

    Raises `UserMistake` for a wrong setting; what goes wrong later reaches the calling agent as one line.
    """
    given = settings.get("limits", {})
    limits = given.model_dump(exclude_unset=True) if isinstance(given, Limits) else given
    context = read_context({"clarify": "assume", **settings, "limits": {"max_tool_calls": max_tool_calls, **limits}})
    if checkpointer is None:
        # Nobody could answer.
        clarify = "assume" if context.clarify == "ask" else context.clarify
        context = context.model_copy(update={"clarify": clarify, "review_plan": False})
    # A mistake in the call shows here rather than inside of the agent.
    build_graph(strategy, checkpointer=checkpointer)
    return DeepResearchTool(
        name=name,
        description=DESCRIPTION,
        args_schema=Question,
        response_format="content_and_artifact",
        strategy=strategy,
        context=context,
        checkpointer=checkpointer,
    )


class Question(BaseModel):
    """What the tool is called with."""

    question: str = Field(description="The question, in words that can be understood alone.")
    tool_call_id: Annotated[str, InjectedToolArg] = ""


class DeepResearchTool(BaseTool):
    """Runs a research of its own for every call; see `deep_research_tool`."""

    strategy: Strategy
    context: Context
    checkpointer: Checkpointer

    @override
    def run(self, tool_input: str | dict[str, Any], *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        return super().run(_with_id(tool_input, tool_call_id), *args, tool_call_id=tool_call_id, **kwargs)

    @override
    async def arun(
        self, tool_input: str | dict[str, Any], *args: Any, tool_call_id: str | None = None, **kwargs: Any
    ) -> Any:
        return await super().arun(_with_id(tool_input, tool_call_id), *args, tool_call_id=tool_call_id, **kwargs)

    @override
    def _run(self, question: str, tool_call_id: str) -> ContentAndArtifact:
        research = self._research(tool_call_id)
        return wait_for(research.run(question), research.loop())

    @override
    async def _arun(self, question: str, tool_call_id: str) -> ContentAndArtifact:
        return await self._research(tool_call_id).run(question)

    def _research(self, tool_call_id: str) -> NestedResearch:
        # A graph for one call: without a checkpointer all that it kept goes with it.
        graph = build_graph(self.strategy, checkpointer=self.checkpointer or InMemorySaver())
        return NestedResearch(graph, self.context, self.name, tool_call_id)


def _with_id(tool_input: str | dict[str, Any], tool_call_id: str | None) -> dict[str, Any]:
    """Return the arguments with the id of the call; LangChain's own way of adding it refuses calls without one."""
    arguments = {"question": tool_input} if isinstance(tool_input, str) else tool_input
    return {**arguments, "tool_call_id": tool_call_id or ""}
