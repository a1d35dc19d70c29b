"""Tool calls and their results in message histories: validates calls, fills in findings, shortens
to a window.

The orchestrator's transcript holds an empty `ToolMessage` for each call whose finding is stored in
the state; prompts get the finding in its place (`Transcript`).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Self

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call
from langchain_core.messages.utils import count_tokens_approximately

from ...prompts import fence
from ..records import tool_names
from ..records.research import Finding, ToolRequest
from .conversation import clean_nested

_CUT_OFF = frozenset({"length", "max_tokens"})
"""Finish reasons of messages that were cut off at the output limit."""
_BROKEN = "broken off"
"""Finish reason of an answer whose stream broke off."""
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
_WITHHELD_NOTICE = (
    "Withheld: the provider of the model refuses to have this result read. Go on without it."
)
_INCOMPLETE = "(Incomplete"
_EARLIER = "deep_research_earlier"
"""Key in `additional_kwargs` of the message whose calls stand for findings that the transcript has
no calls for."""
_REPORT_CHARACTERS = 1000
"""Length to which an earlier report is cut if a prompt does not fit."""
_Shorten = Callable[[str, float], str]
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

    @classmethod
    def read(
        cls,
        message: AIMessage,
        tools: Collection[str],
        earlier: Iterable[AnyMessage] = (),
        *,
        taken: Collection[str] = (),
    ) -> Self:
        """Split the calls of a message into those that can be run and those that cannot.

        `tools`: names of the tools that the model was offered; `earlier`: the messages before it;
        `taken`: further call ids used earlier in the thread. Missing and repeated ids are replaced,
        so that every call has exactly one result.
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
        is_cut_off = Finish.of(message).was_cut_off
        calls = list[ToolCall]()
        accepted = list[ToolRequest]()
        refused = dict[str, str]()
        used = _call_ids(earlier).union(taken)
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
        return cls(kept, tuple(accepted), refused)

    @property
    def fault(self) -> str:
        """Why its first refused call cannot be run; if there is none, that no tool was called."""
        refused = next(iter(self.refused.values()), "no tool was called")
        return refused.removeprefix(NOT_RUN).strip(" .")

    def answered(self, answers: Mapping[str, str]) -> list[AnyMessage]:
        """Return the message and the results of its calls, in their order; `answers`: their texts
        by call id.

        A message without calls had no effect: it is left out, so that no model sees it again.
        """
        calls = self.message.tool_calls
        messages: list[AnyMessage] = [self.message] if calls else []
        for call in calls:
            call_id = call["id"] or ""
            if call_id in answers:
                messages.append(ToolMessage(answers[call_id], tool_call_id=call_id))
        return messages

    def all_refused(self, reason: str) -> list[AnyMessage]:
        """Return the message, with results that say of all its calls why they were not run."""
        answer = f"{NOT_RUN} {reason}."
        return self.answered(dict.fromkeys(_call_ids([self.message]), answer))


class Finish(NamedTuple):
    """How an answer of a model ended."""

    reason: str | None
    """The finish reason; None if the server sent none."""

    @classmethod
    def of(cls, message: AIMessage) -> Finish:
        """Return how an answer ended."""
        metadata = message.response_metadata
        return cls(metadata.get("finish_reason") or metadata.get("stop_reason"))

    @staticmethod
    def as_broken_off(message: AIMessage) -> AIMessage:
        """Return an answer whose stream broke off as `of` recognises it."""
        metadata = {**message.response_metadata, "finish_reason": _BROKEN}
        return message.model_copy(update={"response_metadata": metadata})

    @property
    def was_cut_off(self) -> bool:
        """Whether it ended at the output limit."""
        return self.reason in _CUT_OFF

    @property
    def broke_off(self) -> bool:
        """Whether its stream broke off before its end."""
        return self.reason == _BROKEN


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


def _call_ids(messages: Iterable[AnyMessage]) -> set[str]:
    """Return the ids of all calls in the messages."""
    return {call["id"] or "" for call in _calls_in(messages)}


def _calls_in(messages: Iterable[AnyMessage]) -> list[ToolCall]:
    calls = list[ToolCall]()
    for message in messages:
        if isinstance(message, AIMessage):
            calls += message.tool_calls
    return calls


def result_of(finding: Finding | None) -> str:
    """Return the text of a finding as the orchestrator and the writer see it; None: its researcher
    was interrupted."""
    if finding is None:
        return _INTERRUPTED
    if finding.is_withheld:
        return _WITHHELD_NOTICE
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


class Transcript(NamedTuple):
    """The orchestrator's transcript, and the findings that its prompts get in place of the empty
    results."""

    messages: Sequence[AnyMessage]
    findings: Mapping[str, Finding]
    """The thread's findings by call id."""

    @staticmethod
    def pending(tasks: Sequence[tuple[str, str]]) -> list[AnyMessage]:
        """Return a message that calls for these tasks (call id, text), as if the orchestrator's
        model had written it, and their empty results."""
        results = [ToolMessage("", tool_call_id=call_id) for call_id, _ in tasks]
        return [_research_message(tasks), *results]

    def filled(self) -> list[AnyMessage]:
        """Return the transcript with the text of the finding in each empty result."""
        return self._with_findings(self.messages)

    def research(self) -> list[AnyMessage]:
        """Return only the research calls with the texts of their findings, and the user's messages.

        A task is given by its title if it has one: a finding is understood without its task.
        """
        return self._with_findings(self._research_calls())

    @property
    def rounds(self) -> int:
        """Number of messages that called for research."""
        rounds = 0
        for message in self._research_calls():
            if isinstance(message, AIMessage):
                rounds += 1
        return rounds

    def earlier(self) -> list[AnyMessage]:
        """Return the findings that the transcript has no call for, as one message with research
        calls, and their results.

        These are the findings of the thread's earlier questions, and of the steps of a plan.
        """
        called = _call_ids(self.messages)
        tasks: list[tuple[str, str]] = []
        results: list[ToolMessage] = []
        for finding in self.findings.values():
            if finding.id not in called:
                tasks.append((finding.id, finding.task))
                results.append(ToolMessage(result_of(finding), tool_call_id=finding.id))
        if not tasks:
            return []
        message = _research_message(tasks)
        message.additional_kwargs[_EARLIER] = True
        return [message, *results]

    def _with_findings(self, messages: Iterable[AnyMessage]) -> list[AnyMessage]:
        filled: list[AnyMessage] = []
        for message in messages:
            if isinstance(message, ToolMessage) and not message.content:
                call_id = message.tool_call_id
                finding = self.findings.get(call_id)
                message = ToolMessage(result_of(finding), tool_call_id=call_id)
            filled.append(message)
        return filled

    def _research_calls(self) -> list[AnyMessage]:
        """Return the research calls with titles as tasks and with their empty results, and the
        user's messages."""
        pending: dict[str | None, ToolMessage] = {}
        for message in self.messages:
            if isinstance(message, ToolMessage) and not message.content:
                pending[message.tool_call_id] = message
        kept: list[AnyMessage] = []
        for message in self.messages:
            if isinstance(message, HumanMessage):
                kept.append(message)
            elif isinstance(message, AIMessage):
                calls: list[ToolCall] = []
                results: list[ToolMessage] = []
                for call in message.tool_calls:
                    if call["id"] in pending:
                        calls.append(_with_title_as_task(call))
                        results.append(pending[call["id"]])
                if calls:
                    # A copy keeps the reasoning, which some servers expect to get back.
                    kept.append(message.model_copy(update={"content": "", "tool_calls": calls}))
                    kept += results
        return kept

    def titles(self, tasks: Sequence[tuple[str, str]]) -> dict[str, str]:
        """Return a title for each task (call id, text), by call id: the `title` of its call, else
        words of its text.

        Words at the beginning that all tasks have in common are left out.
        """
        given = {call["id"]: call["args"].get("title") for call in _calls_in(self.messages)}
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


def _with_title_as_task(call: ToolCall) -> ToolCall:
    """Return a research call with its title in place of its task, if it has a title."""
    title = call["args"].get("title")
    if not isinstance(title, str) or not title.strip():
        return call
    return tool_call(name=call["name"], args={"task": title}, id=call["id"])


def _research_message(tasks: Iterable[tuple[str, str]]) -> AIMessage:
    calls: list[ToolCall] = []
    for call_id, text in tasks:
        arguments = {"task": text}
        calls.append(tool_call(name=tool_names.RESEARCH_AGENT, args=arguments, id=call_id))
    return AIMessage("", tool_calls=calls)


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


def withheld_result(call_id: str) -> ToolMessage:
    """Return the message that replaces a result refused by the provider's filter."""
    return ToolMessage(_WITHHELD_NOTICE, tool_call_id=call_id)


def fit_window(
    messages: Sequence[AnyMessage], tokens: int, shorten: _Shorten | None
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
        older: list[int] = []
        for index in results:
            if index < newest:
                older.append(index)
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
    fitted: list[AnyMessage], results: Sequence[int], tokens: int, least: float, shorten: _Shorten
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
    if not isinstance(message, AIMessage) or message.additional_kwargs.get(_EARLIER):
        return False
    return any(call["name"] not in _NO_WORK for call in message.tool_calls)


def is_result(message: AnyMessage) -> bool:
    """Whether the message is a tool result with content of a document, a page or a researcher."""
    if not isinstance(message, ToolMessage):
        return False
    text = message.text
    return not text.startswith((_FAILED, _WITHHELD_NOTICE)) and not is_status_text(text)
