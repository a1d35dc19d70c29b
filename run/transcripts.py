"""Puts the findings into the orchestrator's transcript, and makes a transcript fit a model's window."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import count_tokens_approximately

from ..records.research import Finding
from . import tool_names
from .calls import NOT_RUN, is_status_text
from .fencing import fence

INTERRUPTED = f"{NOT_RUN} the research was interrupted. Ask again if it is still needed."

FAILED = "The research failed"
WITHHELD = "Withheld: the provider of the model refuses to have this result read. Go on without it."
INCOMPLETE = "(Incomplete"
EARLIER = "deep_research_earlier"
"""Mark of the message that stands for the findings of earlier questions."""
REPORT_CHARACTERS = 1000
"""Characters that are left of an earlier report when a prompt does not fit."""

Shorten = Callable[[str, float], str]
"""Shortens a result to about this share of it, from 0 to 1."""
LEAST_SHARE = 0.3
"""Of older results as much is left before the newest ones shrink, too."""

CHARACTERS_PER_TOKEN = 4
"""Characters that a token is taken to have where nobody counts them."""


def result_of(finding: Finding | None) -> str:
    """Return a finding as the orchestrator and the writer read it."""
    if finding is None:
        return INTERRUPTED
    if finding.is_withheld:
        return WITHHELD
    text = finding.text if finding.numbered is None else finding.numbered
    if finding.failures and text:
        # It may consist of excerpts that no model has looked at.
        text = fence(text, hashlib.sha256(finding.id.encode()).hexdigest()[:8])
    if finding.ended == "failed":
        return f"{FAILED}: {finding.reason}. Try another approach, or go on. {text}".strip()
    return f"{INCOMPLETE}: {finding.reason}.)\n{text}" if finding.ended == "partial" else text


def with_findings(transcript: Sequence[AnyMessage], findings: Mapping[str, Finding]) -> list[AnyMessage]:
    """Return the transcript with the findings filled into their empty results."""
    return [
        ToolMessage(result_of(findings.get(message.tool_call_id)), tool_call_id=message.tool_call_id)
        if isinstance(message, ToolMessage) and not message.content
        else message
        for message in transcript
    ]


def research_calls(transcript: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the research calls with the places of their findings, and the user's messages, without thoughts."""
    places = {one.tool_call_id: one for one in transcript if isinstance(one, ToolMessage) and not one.content}
    kept: list[AnyMessage] = []
    for message in transcript:
        if isinstance(message, HumanMessage):
            kept.append(message)
        elif isinstance(message, AIMessage) and (calls := [one for one in message.tool_calls if one["id"] in places]):
            # A server may want its reasoning back.
            asked = message.model_copy(update={"content": "", "tool_calls": calls})
            kept += [asked, *(places[str(one["id"])] for one in calls)]
    return kept


def mark_withheld(findings: Mapping[str, Finding], refused: Collection[str]) -> dict[str, Finding]:
    """Return the findings that a content filter refused (ids), marked so that no later call shows them."""
    return {key: findings[key].model_copy(update={"is_withheld": True}) for key in refused if key in findings}


def count_withheld(notes: Sequence[AnyMessage]) -> int:
    """Return how many results of a researcher's calls a content filter refused."""
    return len({note.tool_call_id for note in notes if isinstance(note, ToolMessage) and note.text == WITHHELD})


def earlier_findings(findings: Mapping[str, Finding], question_id: str) -> list[AnyMessage]:
    """Return the findings of the thread's earlier questions as calls and results."""
    earlier = [finding for finding in findings.values() if finding.question_id != question_id]
    if not earlier:
        return []
    calls = [
        tool_call(name=tool_names.RESEARCH_AGENT, args={"task": finding.task}, id=finding.id) for finding in earlier
    ]
    results = [ToolMessage(result_of(finding), tool_call_id=finding.id) for finding in earlier]
    return [AIMessage("", tool_calls=calls, additional_kwargs={EARLIER: True}), *results]


def fit_window(messages: Sequence[AnyMessage], tokens: int, shorten: Shorten | None) -> list[AnyMessage]:
    """Shorten results until the messages have at most about so many tokens, all in proportion to their length.

    Those of the newest round of work stay whole as long as `LEAST_SHARE` of the others is left. At last the assistant's
    older reports are cut. The user's words stay whole, whatever the number of tokens.
    """
    fitted = list(messages)
    if tokens_of(fitted) <= tokens:
        return fitted
    newest = max((place for place, message in enumerate(fitted) if _works(message)), default=len(fitted))
    results = [place for place, message in enumerate(fitted) if _is_result(message)]
    older = [place for place in results if place < newest]
    if shorten:
        _shorten(fitted, older, tokens, LEAST_SHARE, shorten)
        _shorten(fitted, results, tokens, 0.0, shorten)
    for place, message in enumerate(fitted[:newest]):
        if tokens_of(fitted) > tokens and isinstance(message, AIMessage) and message.text:
            fitted[place] = message.model_copy(update={"content": _cut(message.text)})
    return fitted


def _shorten(fitted: list[AnyMessage], places: Sequence[int], tokens: int, least: float, shorten: Shorten) -> None:
    """Shorten the results at these places alike, to this share at least, if all messages have more tokens than this."""
    held = tokens_of([HumanMessage("".join(fitted[place].text for place in places))])
    # What is left of each is rounded.
    excess = tokens_of(fitted) - tokens
    if excess <= 0 or not held:
        return
    share = max(least, 1 - (excess + 2 * len(places)) / held)
    for place in places:
        shorter = _below_head(shorten, share)(fitted[place].text)
        fitted[place] = fitted[place].model_copy(update={"content": shorter})


def tokens_of(messages: Sequence[AnyMessage]) -> int:
    """Estimate tokens: four characters each, and one for each character beyond ASCII."""
    beyond = sum(len(text) - len(text.encode("ascii", "ignore")) for message in messages if (text := message.text))
    return int(count_tokens_approximately(messages) + beyond * 3 / 4)


def _works(message: AnyMessage) -> bool:
    """Whether the message asks for research or a tool of this question, not only for a thought or the report."""
    if not isinstance(message, AIMessage) or message.additional_kwargs.get(EARLIER):
        return False
    return any(call["name"] not in (tool_names.THINK_TOOL, tool_names.GENERATE_REPORT) for call in message.tool_calls)


def _is_result(message: AnyMessage) -> bool:
    """Whether it is a tool result with content from outside."""
    text = message.text
    return isinstance(message, ToolMessage) and not (text.startswith((FAILED, WITHHELD)) or is_status_text(text))


def _below_head(shorten: Shorten, share: float) -> Callable[[str], str]:
    """Keep the line that says how the research ended."""

    def shorten_body(text: str) -> str:
        head, line_break, body = text.partition("\n") if text.startswith(INCOMPLETE) else ("", "", text)
        return f"{head}{line_break}{shorten(body, share)}"

    return shorten_body


def _cut(text: str) -> str:
    return text if len(text) <= REPORT_CHARACTERS else f"{text[:REPORT_CHARACTERS]} […]"
