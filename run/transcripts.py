"""Puts the findings into the orchestrator's transcript, and makes a transcript fit a model's window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import count_tokens_approximately

from deep_research.state import Finding

INTERRUPTED = "Not run: the research was interrupted. Ask again if it is still needed."

Shorten = Callable[[str], str]


def result_of(finding: Finding | None) -> str:
    """What the orchestrator and the writer read of a finding."""
    if finding is None:
        return INTERRUPTED
    text = finding.text if finding.numbered is None else finding.numbered
    if finding.ended == "failed":
        return f"The research failed: {finding.reason}. Try another approach, or go on. {text}".strip()
    return f"(Incomplete: {finding.reason}.)\n{text}" if finding.ended == "partial" else text


def with_findings(transcript: Sequence[AnyMessage], findings: Mapping[str, Finding]) -> list[AnyMessage]:
    """The transcript with the findings in the places that were left empty for them."""
    return [
        ToolMessage(result_of(findings.get(message.tool_call_id)), tool_call_id=message.tool_call_id)
        if isinstance(message, ToolMessage) and not message.content
        else message
        for message in transcript
    ]


def earlier_findings(findings: Mapping[str, Finding], question_id: str) -> list[AnyMessage]:
    """What was found for earlier questions of the thread, as calls and their results."""
    earlier = [finding for finding in findings.values() if finding.question_id != question_id]
    if not earlier:
        return []
    calls = [tool_call(name="research_agent", args={"task": finding.task}, id=finding.id) for finding in earlier]
    results = [ToolMessage(result_of(finding), tool_call_id=finding.id) for finding in earlier]
    return [AIMessage("", tool_calls=calls), *results]


def fit(messages: Sequence[AnyMessage], tokens: int, shorteners: Sequence[Shorten]) -> list[AnyMessage]:
    """Shorten tool results, the oldest first, until the messages have at most `tokens` tokens.

    The first of `shorteners` is tried on all results before the next. Results of the newest round stay whole.
    """
    fitted = list(messages)
    newest = max((n for n, m in enumerate(fitted) if isinstance(m, AIMessage) and m.tool_calls), default=len(fitted))
    excess = count_tokens_approximately(fitted) - tokens
    for shorten in shorteners:
        for place, message in enumerate(fitted[:newest]):
            if excess <= 0:
                return fitted
            if isinstance(message, ToolMessage):
                shorter = ToolMessage(shorten(cast(str, message.content)), tool_call_id=message.tool_call_id)
                excess -= count_tokens_approximately([message]) - count_tokens_approximately([shorter])
                fitted[place] = shorter
    return fitted
