"""Puts the findings into the orchestrator's transcript, and makes a transcript fit a model's window."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import count_tokens_approximately

from ..state import Finding
from . import tool_names
from .calls import NOT_RUN, is_word_of_ours
from .fencing import fence

INTERRUPTED = f"{NOT_RUN} the research was interrupted. Ask again if it is still needed."

FAILED = "The research failed"
WITHHELD = "Withheld: the provider of the model refuses to have this result read. Go on without it."
INCOMPLETE = "(Incomplete"
EARLIER = "deep_research_earlier"
"""Mark of the message that stands for the findings of earlier questions."""
REPORT_CHARACTERS = 1000
"""Characters that are left of an earlier report when a prompt does not fit."""

Shorten = Callable[[str], str]

CHARACTERS_PER_TOKEN = 4
"""Characters that a token is taken to have where nobody counts them."""


def result_of(finding: Finding | None) -> str:
    """What the orchestrator and the writer read of a finding."""
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
    """The transcript with the findings in the places that were left empty for them."""
    return [
        ToolMessage(result_of(findings.get(message.tool_call_id)), tool_call_id=message.tool_call_id)
        if isinstance(message, ToolMessage) and not message.content
        else message
        for message in transcript
    ]


def withheld(findings: Mapping[str, Finding], refused: Collection[str]) -> dict[str, Finding]:
    """The findings that a filter has `refused` to have read (ids), marked so that no later call shows them."""
    return {key: findings[key].model_copy(update={"is_withheld": True}) for key in refused if key in findings}


def count_withheld(notes: Sequence[AnyMessage]) -> int:
    """How many results of a researcher's calls a filter has refused to have read."""
    return len({note.tool_call_id for note in notes if isinstance(note, ToolMessage) and note.text == WITHHELD})


def earlier_findings(findings: Mapping[str, Finding], question_id: str) -> list[AnyMessage]:
    """What was found for earlier questions of the thread, as calls and their results."""
    earlier = [finding for finding in findings.values() if finding.question_id != question_id]
    if not earlier:
        return []
    calls = [
        tool_call(name=tool_names.RESEARCH_AGENT, args={"task": finding.task}, id=finding.id) for finding in earlier
    ]
    results = [ToolMessage(result_of(finding), tool_call_id=finding.id) for finding in earlier]
    return [AIMessage("", tool_calls=calls, additional_kwargs={EARLIER: True}), *results]


def fit(messages: Sequence[AnyMessage], tokens: int, shorteners: Sequence[Shorten]) -> list[AnyMessage]:
    """Shorten results, the oldest first, until the messages have at most `tokens` tokens.

    The first of `shorteners` is tried on all results before the next, and at last the assistant's older reports are
    cut. Results of the newest round of work stay whole, and so do the user's words, whatever the number of tokens.
    """
    fitted = list(messages)
    newest = max((place for place, message in enumerate(fitted) if _works(message)), default=len(fitted))
    excess = tokens_of(fitted) - tokens
    for shorten in (*map(_below_head, shorteners), _cut):
        kind = AIMessage if shorten is _cut else ToolMessage
        for place, message in enumerate(fitted[:newest]):
            if excess <= 0:
                return fitted
            if isinstance(message, kind) and message.text:
                shorter = message.model_copy(update={"content": shorten(message.text)})
                excess -= tokens_of([message]) - tokens_of([shorter])
                fitted[place] = shorter
    return fitted


def tokens_of(messages: Sequence[AnyMessage]) -> int:
    """Tokens, estimated: four characters each, and one for each character beyond ASCII."""
    beyond = sum(1 for message in messages for character in message.text if not character.isascii())
    return int(count_tokens_approximately(messages) + beyond * 3 / 4)


def _works(message: AnyMessage) -> bool:
    """Whether the message asks for research or a tool of this question, not only for a thought or the report."""
    if not isinstance(message, AIMessage) or message.additional_kwargs.get(EARLIER):
        return False
    return any(call["name"] not in (tool_names.THINK_TOOL, tool_names.GENERATE_REPORT) for call in message.tool_calls)


def _below_head(shorten: Shorten) -> Shorten:
    """Keep the line that says how the research ended."""

    def shorten_body(text: str) -> str:
        if text.startswith((FAILED, WITHHELD)) or is_word_of_ours(text):
            return text
        head, line_break, body = text.partition("\n") if text.startswith(INCOMPLETE) else ("", "", text)
        return f"{head}{line_break}{shorten(body)}"

    return shorten_body


def _cut(text: str) -> str:
    return text if len(text) <= REPORT_CHARACTERS else f"{text[:REPORT_CHARACTERS]} […]"
