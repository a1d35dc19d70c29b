"""Tool calls in messages, and transcripts: read, completed with findings, and cut to a model's window."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.messages.utils import count_tokens_approximately

from ...prompts import fence
from ..records.research import ConflictingClaims, Finding
from . import tool_names
from .conversation import clean_nested

CUT_OFF = frozenset({"length", "max_tokens"})
BROKEN = {"finish_reason": "broken off"}
"""What is added to the metadata of an answer whose stream broke."""
REASONING = "reasoning_content"
"""Where a thought of a compatible server is kept, in `additional_kwargs`."""
MOST_GAPS = 20
GAP_CHARACTERS = 300
"""Of what a call says is missing."""
ACKNOWLEDGED = "Noted."
MERGED = "Run together with the first call of this message; the results stand there."
NOT_RUN = "Not run:"
"""Beginning of the results of calls that were not carried out."""
UNREAD_FORM = "it was written in a form that is not read"
"""Beginning of the fault of a call that was written as text; in the next lines stands how to write it."""
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
TITLE_WORDS = 6
"""Words of a task's title."""
LEAST_SHARE = 0.3
"""Of older results as much is left before the newest ones shrink, too."""
CHARACTERS_PER_TOKEN = 4
NO_WORK = (tool_names.THINK_TOOL, tool_names.CALCULATE, tool_names.GENERATE_REPORT)
"""Tools whose calls bring nothing new."""
"""Characters that a token is taken to have where nobody counts them."""


class RunnableCall(NamedTuple):
    """A tool call that can be run."""

    id: str
    name: str
    arguments: dict[str, Any]


class Refusal(NamedTuple):
    """A tool call that cannot be run, and what to tell the model."""

    id: str
    reason: str


class Calls(NamedTuple):
    """The tool calls of an assistant message."""

    message: AIMessage
    """The message with a unique id for every call."""
    accepted: tuple[RunnableCall, ...]
    refused: tuple[Refusal, ...]


def read_calls(message: AIMessage, tools: Collection[str], taken: Collection[str]) -> Calls:
    """Split the calls of a message into those that can be run and those that cannot.

    `tools` are the names that were offered; `taken` are ids used before in this thread. A missing or repeated id is
    replaced, so that every call has exactly one result.
    """
    entries = [(call["id"], call["name"], clean_nested(call["args"]), "") for call in message.tool_calls]
    entries += [(call["id"], call["name"] or "unknown", {}, _fault_of(call)) for call in message.invalid_tool_calls]
    cut_off = was_cut_off(message)
    used, calls, accepted, refused = set(taken), [], [], []
    for number, (given, name, arguments, fault) in enumerate(entries):
        call_id = _unique(given or f"call-{number}", used)
        used.add(call_id)
        calls.append(tool_call(name=name, args=arguments, id=call_id))
        fault = "the message was cut off at the output limit; write less" if cut_off else fault
        if not fault and name not in tools:
            fault = f"there is no tool {name!r}; the tools are {', '.join(sorted(tools))}"
        if fault:
            refused.append(Refusal(call_id, f"{NOT_RUN} {fault}."))
        else:
            accepted.append(RunnableCall(call_id, name, arguments))
    # Only the words are kept of the content: its blocks for tool calls bear the ids as the model gave them.
    thought = {name: clean_nested(value) for name, value in message.additional_kwargs.items() if name == REASONING}
    kept = AIMessage(content=message.text, tool_calls=calls, id=message.id, additional_kwargs=thought)
    if refused:
        logging.getLogger(__name__).info("%d calls of a message are not carried out", len(refused))
    return Calls(kept, tuple(accepted), tuple(refused))


def _fault_of(call: InvalidToolCall) -> str:
    """Return what is wrong with a call; the words of a foreign error are left out."""
    error = call["error"] or ""
    return error.removesuffix(".") if error.startswith(UNREAD_FORM) else "its arguments are not valid JSON"


def was_cut_off(message: AIMessage) -> bool:
    """Whether the message ended at the output limit."""
    return finish_of(message) in CUT_OFF


THOUGHTS_ALONE = " It sent thoughts alone, which the setting of its server for a reasoning parser may explain."


def broke_off(message: AIMessage) -> bool:
    """Whether the stream of the message broke."""
    return finish_of(message) == BROKEN["finish_reason"]


def finish_of(message: AIMessage) -> str | None:
    """Return the finish reason of the message; none if its server gave none."""
    metadata = message.response_metadata
    return metadata.get("finish_reason") or metadata.get("stop_reason")


def missing_in(arguments: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return what a call for the report declares missing, each once; none if it declares nothing."""
    given = arguments.get("missing")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list):
        return None
    lines = (" ".join(text.split())[:GAP_CHARACTERS] for text in texts if isinstance(text, str))
    return tuple(dict.fromkeys(filter(None, lines)))[:MOST_GAPS]


def contradictions_in(arguments: Mapping[str, Any], keys: Sequence[str]) -> tuple[ConflictingClaims, ...]:
    """Return the contradictions between sources that a call declares; `keys` of the sources by number, from 1."""
    given, known = arguments.get("contradictions"), dict(enumerate(keys, 1))
    found = list[ConflictingClaims]()
    for one in filter(lambda one: isinstance(one, dict), given if isinstance(given, list) else ()):
        claim, other = (" ".join(str(one.get(name) or "").split()) for name in ("claim", "other"))
        numbers = (one.get(name) for name in ("document", "other_document"))
        sources = [known.get(number, "") if isinstance(number, int) else "" for number in numbers]
        says_two = claim and other and claim.casefold() != other.casefold()
        if says_two and all(sources) and len({*sources}) == len(sources):
            found.append(ConflictingClaims(claims=(claim, other), sources=(sources[0], sources[1])))
    return tuple(found)[:MOST_GAPS]


def is_status_text(result: str) -> bool:
    """Whether a result holds nothing from outside: the call was acknowledged, or not carried out."""
    return result in (ACKNOWLEDGED, MERGED) or result.startswith(NOT_RUN)


def call_ids(messages: Iterable[AnyMessage]) -> set[str]:
    """Return the ids of all calls in these messages."""
    return {call["id"] or "" for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}


def results_for(message: AIMessage, answers: dict[str, str]) -> list[ToolMessage]:
    """Return the tool results of a message in the order of its calls; `answers` by call id."""
    return [
        ToolMessage(answers[call_id], tool_call_id=call_id)
        for call in message.tool_calls
        if (call_id := call["id"] or "") in answers
    ]


def results_in_order(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages, each followed by the results of its calls in their order, as some servers require.

    A later result of a call stands in the place of an earlier one, wherever it came.
    """
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    ordered: list[AnyMessage] = []
    for message in messages:
        if not isinstance(message, ToolMessage):
            ordered.append(message)
        if isinstance(message, AIMessage):
            ids = [call["id"] or "" for call in message.tool_calls]
            ordered += [results[call_id] for call_id in ids if call_id in results]
    return ordered


def _unique(wanted: str, used: Collection[str]) -> str:
    candidate, number = wanted, 2
    while candidate in used:
        candidate, number = f"{wanted}-{number}", number + 1
    return candidate


def result_of(finding: Finding | None) -> str:
    """Return a finding as the orchestrator and the writer read it."""
    if finding is None:
        return INTERRUPTED
    if finding.is_withheld:
        return WITHHELD
    text = finding.text if finding.numbered is None else finding.numbered
    if (finding.failures or finding.is_excerpt) and text:
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


def titles_of(tasks: Sequence[tuple[str, str]], transcript: Sequence[AnyMessage]) -> dict[str, str]:
    """Return the title of each task, by call id: the one that its call gives, or the first words that tell it apart.

    Tasks of one round often begin with the same words.
    """
    calls = [call for message in transcript if isinstance(message, AIMessage) for call in message.tool_calls]
    given = {call["id"]: call["args"].get("title") for call in calls}
    words = [text.split() for _, text in tasks]
    shared = (
        sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))) if len(words) > 1 else 0
    )
    titles = dict[str, str]()
    for (call_id, text), own in zip(tasks, words, strict=True):
        title = given.get(call_id)
        chosen = title.split() if isinstance(title, str) and title.strip() else own[shared:] or text.split()
        titles[call_id] = " ".join(chosen[:TITLE_WORDS]) + "…" * (len(chosen) > TITLE_WORDS)
    return titles


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
    """Shorten results until the messages have at most about `tokens` tokens, all in proportion to their length.

    Those of the newest round of work stay whole as long as `LEAST_SHARE` of the others is left. At last the assistant's
    older reports are cut. The user's words stay whole, whatever the number of tokens.
    """
    fitted = list(messages)
    if tokens_of(fitted) <= tokens:
        return fitted
    newest = max((place for place, message in enumerate(fitted) if _works(message)), default=len(fitted))
    results = [place for place, message in enumerate(fitted) if is_result(message)]
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
        text = fitted[place].text
        # The line that says how the research ended is kept.
        head, line_break, body = text.partition("\n") if text.startswith(INCOMPLETE) else ("", "", text)
        shorter = f"{head}{line_break}{shorten(body, share)}"
        fitted[place] = fitted[place].model_copy(update={"content": shorter})


def tokens_of(messages: Sequence[AnyMessage]) -> int:
    """Estimate tokens: four characters each, and one for each character beyond ASCII."""
    beyond = sum(len(text) - len(text.encode("ascii", "ignore")) for message in messages if (text := message.text))
    return int(count_tokens_approximately(messages) + beyond * 3 / 4)


def _works(message: AnyMessage) -> bool:
    """Whether the message asks for research or a tool of this question, not only for a thought or the report."""
    if not isinstance(message, AIMessage) or message.additional_kwargs.get(EARLIER):
        return False
    return any(call["name"] not in NO_WORK for call in message.tool_calls)


def is_result(message: AnyMessage) -> bool:
    """Whether it is a tool result with content from outside: what a document, a page or a researcher says."""
    text = message.text
    return isinstance(message, ToolMessage) and not (text.startswith((FAILED, WITHHELD)) or is_status_text(text))


def _cut(text: str) -> str:
    return text if len(text) <= REPORT_CHARACTERS else f"{text[:REPORT_CHARACTERS]} […]"


def whole_message(chunk: AIMessageChunk, text: str) -> AIMessage:
    """Return the message that the chunks add up to, with `text` as its content.

    LangChain closes open brackets and quotes of arguments that were cut off, so that half a call looks like a whole
    one. Here arguments that are not a JSON object make an invalid call.
    """
    calls: list[ToolCall] = []
    broken: list[InvalidToolCall] = []
    for part in chunk.tool_call_chunks:
        arguments = _read(part["args"] or "{}")
        if arguments is None:
            broken.append(invalid_tool_call(name=part["name"], args=part["args"], id=part["id"], error="not an object"))
        else:
            calls.append(tool_call(name=part["name"] or "", args=arguments, id=part["id"]))
    return AIMessage(
        content=text,
        additional_kwargs=chunk.additional_kwargs,
        response_metadata=chunk.response_metadata,
        id=chunk.id,
        tool_calls=calls,
        invalid_tool_calls=broken,
        usage_metadata=chunk.usage_metadata,
    )


def _read(arguments: str) -> dict[str, Any] | None:
    """Return the object that the text holds; some servers send it as a JSON string once more."""
    try:
        value = json.loads(arguments, strict=False)
        value = json.loads(value, strict=False) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return clean_nested(value) if isinstance(value, dict) else None
