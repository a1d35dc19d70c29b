"""How every call of a researcher begins: by the same prompt and tools, so that a provider keeps what it has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from ..models.resolve import profile_of
from ..prompts import render
from ..records.research import Task
from ..run.context import Context
from ..tools.control import GENERATE_FINDING, THINK_TOOL
from ..tools.offer import researcher_tools
from ..tools.read_documents import behind_documents


def conversation(task: Task, context: Context, notes: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a researcher's conversation: what it is to do, its task, and its notes with their texts."""
    offered = list(researcher_tools(context, has_read_all=task.scope.reads_all))
    system = render(
        "think_or_act",
        "system",
        date=task.date,
        language=task.language,
        tools=_in_words(offered),
        offered=offered,
        reasons=profile_of("researcher", context).reasons,
        max_iterations=context.limits.max_iterations,
        max_queries=context.limits.max_queries,
        documents="" if task.scope.reads_all else task.scope.documents,
        has_read_all=task.scope.reads_all,
    )
    return [SystemMessage(system), *behind_documents([HumanMessage(task.text)], notes)]


def tools_of_researcher(task: Task, context: Context) -> list[dict[str, Any]]:
    """Return the schemas of the tools that a researcher is offered in each of its calls."""
    offered = researcher_tools(context, has_read_all=task.scope.reads_all)
    tools = [*offered.values(), GENERATE_FINDING]
    if not offered:
        return tools
    return tools if profile_of("researcher", context).reasons else [*tools, THINK_TOOL]


def _in_words(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
