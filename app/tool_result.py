"""What a research that ran inside another agent came to, as plain data: it is kept with the caller's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from ..run.packets import CallFinished, StopReason
from ..run.spending import total
from ..state import Report


class CitedSource(TypedDict):
    """A source of the report."""

    n: int
    """Its number in the report."""
    title: str
    location: str
    """Where a reader opens it: a web address, or the URI of a file."""


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


def result_of(state: Mapping[str, Any], calls: list[CallFinished], status: StopReason, thread: str) -> ToolResult:
    """The result, from the channels of a run and the calls of its models."""
    has_report = status in ("completed", "completed_with_gaps")
    report: Report | None = state["report"] if has_report else None
    cited = [state["sources"][key] for key in report.sources] if report else []
    return ToolResult(
        report=state["messages"][-1].text if has_report or status == "waiting_for_user" else "",
        sources=[CitedSource(n=n, title=source.title, location=source.location) for n, source in enumerate(cited, 1)],
        tool_calls=total(state.get("spending", {})).tool_calls,
        usage=[_usage(role, calls) for role in dict.fromkeys(call.role for call in calls)],
        status=status,
        thread=thread,
    )


def _usage(role: str, calls: list[CallFinished]) -> RoleUsage:
    own = [call for call in calls if call.role == role]
    return RoleUsage(
        role=role,
        calls=len(own),
        input_tokens=sum(call.input_tokens for call in own),
        cached_tokens=sum(call.cached_tokens for call in own),
        output_tokens=sum(call.output_tokens for call in own),
        usd=sum(call.usd for call in own),
    )
