"""Tool calls and their results in message histories: validates calls, fills in findings, shortens
to a window.

The orchestrator's transcript holds an empty `ToolMessage` for each call whose finding is stored in
the state; prompts get the finding in its place (`with_findings`).
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
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
from ..records import tool_names
from ..records.branches import ToolRequest
from ..records.research import Finding
from .conversation import clean_nested

THOUGHTS_ALONE = (
    " It sent only thoughts, perhaps because its server has no or the wrong reasoning parser."
)
"""Ending of the error message for a model that answered with reasoning text but no content."""
_CUT_OFF = frozenset({"length", "max_tokens"})
"""Finish reasons of messages that were cut off at the output limit."""
BROKEN = {"finish_reason": "broken off"}
"""Added to the metadata of an answer whose stream broke off."""
REASONING = "reasoning_content"
"""Key in `additional_kwargs` for the reasoning text of OpenAI-compatible servers."""
MOST_GAPS = 20
"""Maximum number of gaps that one call declares."""
_GAP_CHARACTERS = 300
"""Maximum length of a gap that a call declares."""
ACKNOWLEDGED = "Noted."
MERGED = "Run together with the first call of this message; the results stand there."
NOT_RUN = "Not run:"
"""Prefix of the results of calls that were not run."""
UNREAD_FORM = "it was written in a form that is not read"
"""First line of the error of a call that was written as text in an unknown format; further lines
show the right one."""
_INTERRUPTED = f"{NOT_RUN} the research was interrupted. Ask again if it is still needed."
_FAILED = "The research failed"
WITHHELD_NOTICE = (
    "Withheld: the provider of the model refuses to have this result read. Go on without it."
)
_INCOMPLETE = "(Incomplete"
EARLIER = "deep_research_earlier"
"""Key in `additional_kwargs` of the message whose calls stand for findings that the transcript has
no calls for."""
_REPORT_CHARACTERS = 1000
"""Length to which an earlier report is cut if a prompt does not fit."""
Shorten = Callable[[str, float], str]
"""Shortens a text to about this share of its length, 0 to 1."""
_TITLE_WORDS = 6
"""Maximum words of a task's title."""
_LEAST_SHARE = 0.3
"""Older results are shortened to this share before the newest ones are."""
CHARACTERS_PER_TOKEN = 4
"""Estimated characters per token."""
_NO_WORK = (tool_names.THINK_TOOL, tool_names.CALCULATE, tool_names.GENERATE_REPORT)
"""Tools whose results contain nothing that was found."""


class Calls(NamedTuple):
    """The tool calls of an assistant message."""

    message: AIMessage
    """The message, with a unique id for every call."""
    accepted: tuple[ToolRequest, ...]
    refused: dict[str, str]
    """The results of the calls that cannot be run, by call id: why not, worded for the model."""


def read_calls(message: AIMessage, tools: Collection[str], taken: Collection[str]) -> Calls:
    """Split the calls of a message into those that can be run and those that cannot.

    `tools`: names of the tools that the model was offered; `taken`: call ids used earlier in the
    thread. Missing and repeated ids are replaced, so that every call has exactly one result.
    """
    # Of each call: id, name, arguments, and what is wrong with it.
    sent = list[tuple[str | None, str, dict[str, Any], str]]()
    for valid in message.tool_calls:
        sent.append((valid["id"], valid["name"], clean_nested(valid["args"]), ""))
    for invalid in message.invalid_tool_calls:
        # The text of third-party errors is omitted.
        fault = "its arguments are not valid JSON"
        error = invalid["error"] or ""
        if error.startswith(UNREAD_FORM):
            fault = error.removesuffix(".")
        sent.append((invalid["id"], invalid["name"] or "unknown", {}, fault))
    is_cut_off = was_cut_off(message)
    calls = list[ToolCall]()
    accepted = list[ToolRequest]()
    refused = dict[str, str]()
    used = set(taken)
    for number, (sent_id, name, arguments, fault) in enumerate(sent):
        call_id = wanted = sent_id or f"call-{number}"
        suffixes = count(2)
        while call_id in used:
            call_id = f"{wanted}-{next(suffixes)}"
        used.add(call_id)
        calls.append(tool_call(name=name, args=arguments, id=call_id))
        if is_cut_off:
            fault = "the message was cut off at the output limit; write less"
        elif not fault and name not in tools:
            fault = f"there is no tool {name!r}; the tools are {', '.join(sorted(tools))}"
        if fault:
            refused[call_id] = f"{NOT_RUN} {fault}."
        else:
            accepted.append(ToolRequest(id=call_id, tool=name, arguments=arguments))
    thought = {}
    if REASONING in message.additional_kwargs:
        thought[REASONING] = clean_nested(message.additional_kwargs[REASONING])
    # Only the text of the content is kept: its tool call blocks have the model's own ids.
    kept = AIMessage(
        content=message.text, tool_calls=calls, id=message.id, additional_kwargs=thought
    )
    if refused:
        logger = logging.getLogger(__name__)
        logger.info("%d calls of a message are not carried out", len(refused))
    return Calls(kept, tuple(accepted), refused)


def was_cut_off(message: AIMessage) -> bool:
    """Whether the message ended at the output limit."""
    return finish_of(message) in _CUT_OFF


def stream_broke_off(message: AIMessage) -> bool:
    """Whether the stream of the message broke off before its end."""
    return finish_of(message) == BROKEN["finish_reason"]


def finish_of(message: AIMessage) -> str | None:
    """Return the finish reason of the message; None if the server sent none."""
    metadata = message.response_metadata
    return metadata.get("finish_reason") or metadata.get("stop_reason")


def missing_in(arguments: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the distinct gaps in the argument `missing` of a call; None if it is not a text or a
    list."""
    texts = arguments.get("missing")
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, list):
        return None
    # A dict, because it keeps the order.
    gaps = dict[str, None]()
    for text in texts:
        if isinstance(text, str):
            gaps[" ".join(text.split())[:_GAP_CHARACTERS]] = None
    gaps.pop("", None)
    return tuple(gaps)[:MOST_GAPS]


def is_status_text(result: str) -> bool:
    """Whether a tool result only says that the call was noted, merged into another, or not run."""
    return result in (ACKNOWLEDGED, MERGED) or result.startswith(NOT_RUN)


def call_ids(messages: Iterable[AnyMessage]) -> set[str]:
    """Return the ids of all calls in the messages."""
    return {call["id"] or "" for call in _calls_in(messages)}


def _calls_in(messages: Iterable[AnyMessage]) -> list[ToolCall]:
    calls = list[ToolCall]()
    for message in messages:
        if isinstance(message, AIMessage):
            calls += message.tool_calls
    return calls


def results_for(message: AIMessage, answers: dict[str, str]) -> list[ToolMessage]:
    """Return the tool results for a message, in the order of its calls; `answers`: their texts by
    call id."""
    results: list[ToolMessage] = []
    for call in message.tool_calls:
        call_id = call["id"] or ""
        if call_id in answers:
            results.append(ToolMessage(answers[call_id], tool_call_id=call_id))
    return results


def results_in_order(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with all results directly after the message with their calls, as some
    servers require.

    Of several results of a call, only the last is kept.
    """
    results: dict[str, ToolMessage] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
    ordered: list[AnyMessage] = []
    for message in messages:
        if not isinstance(message, ToolMessage):
            ordered.append(message)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                result = results.get(call["id"] or "")
                if result:
                    ordered.append(result)
    return ordered


def result_of(finding: Finding | None) -> str:
    """Return the text of a finding as the orchestrator and the writer see it; None: its researcher
    was interrupted."""
    if finding is None:
        return _INTERRUPTED
    if finding.is_withheld:
        return WITHHELD_NOTICE
    text = finding.text
    if finding.numbered is not None:
        text = finding.numbered
    # After a failure, a researcher's finding may consist of raw excerpts that no model has read.
    is_raw = finding.is_excerpt or (finding.failures and not finding.lists_learnings)
    if is_raw and text:
        text = fence(text, hashlib.sha256(finding.id.encode()).hexdigest()[:8])
    if finding.ended == "failed":
        return f"{_FAILED}: {finding.reason}. Try another approach, or go on. {text}".strip()
    if finding.ended == "partial":
        return f"{_INCOMPLETE}: {finding.reason}.)\n{text}"
    return text


def with_findings(
    transcript: Sequence[AnyMessage], findings: Mapping[str, Finding]
) -> list[AnyMessage]:
    """Return the transcript with the text of the finding in each empty result; `findings` are by
    call id."""
    filled: list[AnyMessage] = []
    for message in transcript:
        if isinstance(message, ToolMessage) and not message.content:
            call_id = message.tool_call_id
            message = ToolMessage(result_of(findings.get(call_id)), tool_call_id=call_id)
        filled.append(message)
    return filled


def _research_message(tasks: Iterable[tuple[str, str]]) -> AIMessage:
    calls: list[ToolCall] = []
    for call_id, text in tasks:
        arguments = {"task": text}
        calls.append(tool_call(name=tool_names.RESEARCH_AGENT, args=arguments, id=call_id))
    return AIMessage("", tool_calls=calls)


def pending_research(tasks: Sequence[tuple[str, str]]) -> list[AnyMessage]:
    """Return a message that calls for these tasks (call id, text), as if the orchestrator's model
    had written it, and their empty results."""
    results = [ToolMessage("", tool_call_id=call_id) for call_id, _ in tasks]
    return [_research_message(tasks), *results]


def research_calls(transcript: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return only the research calls with their empty results (see `with_findings`), and the user's
    messages."""
    pending: dict[str | None, ToolMessage] = {}
    for message in transcript:
        if isinstance(message, ToolMessage) and not message.content:
            pending[message.tool_call_id] = message
    kept: list[AnyMessage] = []
    for message in transcript:
        if isinstance(message, HumanMessage):
            kept.append(message)
        elif isinstance(message, AIMessage):
            calls = [call for call in message.tool_calls if call["id"] in pending]
            if calls:
                # A copy keeps the reasoning, which some servers expect to get back.
                kept.append(message.model_copy(update={"content": "", "tool_calls": calls}))
                kept += [pending[call["id"]] for call in calls]
    return kept


def titles_of(tasks: Sequence[tuple[str, str]], transcript: Sequence[AnyMessage]) -> dict[str, str]:
    """Return a title for each task (call id, text), by call id: the `title` of its call, else words
    of its text.

    Words at the beginning that all tasks have in common are left out. `transcript` holds the calls.
    """
    given = {call["id"]: call["args"].get("title") for call in _calls_in(transcript)}
    shared = 0
    if len(tasks) > 1:
        shared = _shared_words([text for _, text in tasks])
    titles = dict[str, str]()
    for call_id, text in tasks:
        words = text.split()
        chosen = words[shared:] or words
        given_title = given.get(call_id)
        if isinstance(given_title, str) and given_title.strip():
            chosen = given_title.split()
        title = " ".join(chosen[:_TITLE_WORDS])
        if len(chosen) > _TITLE_WORDS:
            title += "…"
        titles[call_id] = title
    return titles


def _shared_words(texts: Iterable[str]) -> int:
    """Return the number of words at the beginning that all texts have in common."""
    shared = 0
    for words in zip(*map(str.split, texts), strict=False):
        if len(set(words)) > 1:
            break
        shared += 1
    return shared


def mark_withheld(findings: Mapping[str, Finding], refused: Collection[str]) -> dict[str, Finding]:
    """Return the findings with these ids, marked as withheld: later prompts leave out what a
    content filter refused."""
    marked = dict[str, Finding]()
    for key in refused:
        if key in findings:
            marked[key] = findings[key].model_copy(update={"is_withheld": True})
    return marked


def count_withheld(notes: Sequence[AnyMessage]) -> int:
    """Return the number of tool results in a researcher's notes that a content filter refused."""
    withheld = set[str]()
    for note in notes:
        if isinstance(note, ToolMessage) and note.text == WITHHELD_NOTICE:
            withheld.add(note.tool_call_id)
    return len(withheld)


def findings_without_call(
    findings: Mapping[str, Finding], transcript: Sequence[AnyMessage]
) -> list[AnyMessage]:
    """Return the findings that the transcript has no call for, as one message with research calls,
    and their results.

    These are the findings of the thread's earlier questions, and of the steps of a plan.
    """
    called = call_ids(transcript)
    tasks: list[tuple[str, str]] = []
    results: list[ToolMessage] = []
    for finding in findings.values():
        if finding.id not in called:
            tasks.append((finding.id, finding.task))
            results.append(ToolMessage(result_of(finding), tool_call_id=finding.id))
    if not tasks:
        return []
    message = _research_message(tasks)
    message.additional_kwargs[EARLIER] = True
    return [message, *results]


def fit_window(
    messages: Sequence[AnyMessage], tokens: int, shorten: Shorten | None
) -> list[AnyMessage]:
    """Shorten tool results in proportion to their length until the messages have about `tokens`
    tokens.

    Results of the newest round stay whole until older ones are down to `_LEAST_SHARE`. If that is
    not enough, earlier reports are cut. The user's messages are never cut, so the messages may
    still be too long.

    `shorten`: shortens the text of a result; None if results must stay whole.
    """
    fitted = list(messages)
    if estimated_tokens(fitted) <= tokens:
        return fitted
    newest = len(fitted)
    results: list[int] = []
    for index, message in enumerate(fitted):
        if is_result(message):
            results.append(index)
        if _has_work(message):
            newest = index
    if shorten:
        older = [index for index in results if index < newest]
        _shorten(fitted, older, tokens, _LEAST_SHARE, shorten)
        _shorten(fitted, results, tokens, 0.0, shorten)
    for index, message in enumerate(fitted[:newest]):
        if estimated_tokens(fitted) <= tokens:
            break
        if isinstance(message, AIMessage) and len(message.text) > _REPORT_CHARACTERS:
            beginning = f"{message.text[:_REPORT_CHARACTERS]} […]"
            fitted[index] = message.model_copy(update={"content": beginning})
    return fitted


def _shorten(
    fitted: list[AnyMessage], results: Sequence[int], tokens: int, least: float, shorten: Shorten
) -> None:
    """Shorten the messages at these indexes to the same share, not below `least`, if all exceed
    `tokens`."""
    all_results = "".join(fitted[index].text for index in results)
    result_tokens = estimated_tokens([HumanMessage(all_results)])
    excess = estimated_tokens(fitted) - tokens
    if excess <= 0 or not result_tokens:
        return
    # Two more tokens each, because shortened lengths are rounded.
    share = max(least, 1 - (excess + 2 * len(results)) / result_tokens)
    for index in results:
        body: str = fitted[index].text
        head = ""
        if body.startswith(_INCOMPLETE):
            # Keep the line that says how the research ended.
            first_line, line_break, body = body.partition("\n")
            head = first_line + line_break
        shorter = f"{head}{shorten(body, share)}"
        fitted[index] = fitted[index].model_copy(update={"content": shorter})


def estimated_tokens(messages: Sequence[AnyMessage]) -> int:
    """Estimate the tokens of messages: one for four ASCII characters, and one for each other
    character."""
    non_ascii = 0
    for message in messages:
        text = message.text
        non_ascii += len(text) - len(text.encode("ascii", "ignore"))
    return int(count_tokens_approximately(messages) + non_ascii * 3 / 4)


def _has_work(message: AnyMessage) -> bool:
    """Whether the message has a call for this question other than a thought, a calculation or the
    report."""
    if not isinstance(message, AIMessage) or message.additional_kwargs.get(EARLIER):
        return False
    return any(call["name"] not in _NO_WORK for call in message.tool_calls)


def is_result(message: AnyMessage) -> bool:
    """Whether the message is a tool result with content of a document, a page or a researcher."""
    if not isinstance(message, ToolMessage):
        return False
    text = message.text
    return not text.startswith((_FAILED, WITHHELD_NOTICE)) and not is_status_text(text)


def message_from_chunks(chunk: AIMessageChunk, text: str) -> AIMessage:
    """Convert the merged chunks of a streamed answer to a message with this text.

    LangChain would complete truncated JSON arguments, so that half a call looks whole. Here, a call
    is invalid if its arguments are not a JSON object.
    """
    calls: list[ToolCall] = []
    broken: list[InvalidToolCall] = []
    for part in chunk.tool_call_chunks:
        arguments = _json_object(part["args"] or "{}")
        if arguments is None:
            broken.append(
                invalid_tool_call(
                    name=part["name"], args=part["args"], id=part["id"], error="not an object"
                )
            )
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


def _json_object(text: str) -> dict[str, Any] | None:
    """Parse a JSON object, which some servers encode a second time as a JSON string; None for any
    other text."""
    try:
        value = json.loads(text, strict=False)
        if isinstance(value, str):
            value = json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return clean_nested(value)
