"""The whole research as a tool of another agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolArg
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import BaseModel, Field
from typing_extensions import override

from ..run.context import Context
from ..run.limits import Limits
from .background import wait_for
from .embed import ResearchGraph, build_graph, read_context
from .nested import Caller, Ended, NestedResearch, caller_writer
from .strategies import Strategy
from .tool_result import ToolResult

DESCRIPTION = (
    "Researches a question thoroughly, which takes minutes, and returns a report whose numbers in brackets are its "
    "sources. It sees nothing of this conversation."
)
Checkpointer = BaseCheckpointSaver[Any] | str | Path | None


def deep_research_tool(
    strategy: Strategy = "orchestrated",
    *,
    max_tool_calls: int | None = 50,
    name: str = "deep_research_tool",
    checkpointer: Checkpointer = None,
    **settings: Any,
) -> BaseTool:
    """A LangChain tool that runs a whole research inside another agent and returns its report as Markdown.

    Every call has a thread of its own, which `checkpointer` keeps (as in `build_graph`) and the caller's does not; the
    artifact of the message is a `ToolResult`. A research makes at most `max_tool_calls` calls of its own tools (none:
    any number); a `max_tool_calls` among the `limits` wins. The other `settings` are the fields of `Context`. Nobody is
    asked back, unless `clarify` or `review_plan` says so and there is a checkpointer.

    The caller's custom stream gets the packets as `{"type": "deep_research", "tool_call_id", "packet"}` and at the end
    `{"type": "tool_done", "tool_call_id", "name", "tool_calls", "usage", "status"}`.

    Raises `UserMistake` for a wrong setting; what goes wrong later is told to the calling agent in one line.
    """
    given = settings.pop("limits", {})
    limits = given.model_dump(exclude_unset=True) if isinstance(given, Limits) else given
    context = read_context({"clarify": "assume", **settings, "limits": {"max_tool_calls": max_tool_calls, **limits}})
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


class Answer(NamedTuple):
    """What the tool gives back, in the form in which LangChain takes it."""

    content: str | ToolMessage
    artifact: ToolResult


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
    def _run(self, question: str, tool_call_id: str) -> Answer:
        graph = self._graph()
        return self._answer(wait_for(self._research(graph, tool_call_id).run(question), graph._loop()), tool_call_id)

    @override
    async def _arun(self, question: str, tool_call_id: str) -> Answer:
        return self._answer(await self._research(self._graph(), tool_call_id).run(question), tool_call_id)

    def _graph(self) -> ResearchGraph:
        """A graph for one call: without a checkpointer the pages that it read go with it."""
        return build_graph(self.strategy, checkpointer=self.checkpointer)

    def _research(self, graph: ResearchGraph, tool_call_id: str) -> NestedResearch:
        return NestedResearch(graph, self.context, Caller(tool_call_id, self.name, caller_writer()))

    def _answer(self, ended: Ended, tool_call_id: str) -> Answer:
        if not ended.failure:
            return Answer(ended.result["report"], ended.result)
        words = f"The research failed: {ended.failure}"
        if not tool_call_id:
            return Answer(words, ended.result)
        # An error that LangChain turns into a message would lose the artifact.
        message = ToolMessage(words, artifact=ended.result, tool_call_id=tool_call_id, name=self.name, status="error")
        return Answer(message, ended.result)


def _with_id(tool_input: str | dict[str, Any], tool_call_id: str | None) -> dict[str, Any]:
    """The arguments with the id of the call; LangChain's own way of handing it on refuses calls without one."""
    arguments = {"question": tool_input} if isinstance(tool_input, str) else tool_input
    return {**arguments, "tool_call_id": tool_call_id or ""}
