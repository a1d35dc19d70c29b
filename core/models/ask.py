"""Asks a role's model for one answer: fits the prompt to its window, streams, and changes the
request if it fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import NamedTuple, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from pydantic_core import from_json

from ..dialogue.conversation import mark_of, safe_text
from ..dialogue.transcripts import (
    CHARACTERS_PER_TOKEN,
    REASONING,
    estimated_tokens,
    fit_window,
    is_result,
    withheld_result,
)
from ..errors import DeepResearchError, ToolsMissing, UserMistake, log_failure
from ..events.call import CallEvents
from ..evidence.citations.rendering import read_body
from ..masking import Secrets
from ..records import tool_names
from ..settings.context import Context, Role
from ._faults import AnswerFiltered, AnswerRefused, FaultKind, explain, fault_kind
from ._passages import ShownPassage, titles_left_out
from ._retries import RetryBudget, retry_budget_of
from ._thoughts import split_thoughts
from ._wrapping import AnswerPart, WrappingChatModel
from .abilities import chat_model_for
from .request import Request
from .resolve import RoleModels, is_named, profile_of

logger = logging.getLogger(__name__)

_THOUGHT_ARGUMENT = "reasoning"
"""Argument of the think tool that contains the thought."""
_WRITING: tuple[Role, ...] = ("writer", "verifier")
"""Roles whose tool calls no rules can replace."""
_SUSPECT_PASSAGES = 10
"""Maximum number of passages of such a result to leave out, one at a time, before the whole
result."""
_SUSPECTS = 3
"""Maximum number of tool results to leave out, one at a time, while the provider's filter refuses
the prompt."""


class AnswerEmitter:
    """Sends the thoughts and text of one answer to `CallEvents` as its parts arrive, with secrets
    masked."""

    def __init__(self, events: CallEvents, secrets: Secrets | None) -> None:
        """`secrets`: emit text as it arrives, with these masked; None: emit it in `finish`."""
        self._events = events
        self._secrets = secrets
        self._held = ""
        """Text withheld because it may be the beginning of a secret."""
        self._arguments: dict[int, StreamedThought] = {}
        """The calls of the think tool, by their index in the stream."""
        self._source = ""
        """Where the last emitted words came from; words from another source begin a new
        paragraph."""

    def feed(self, part: AnswerPart) -> None:
        """Add the next part."""
        self._emit_thought("native", part.additional_kwargs.get(REASONING, ""))
        self._emit_thought("leaked", part.leaked_thought)
        self._emit_text(part.text)
        for call in part.arriving_calls:
            index = call["index"] or 0
            if call["name"] == tool_names.THINK_TOOL:
                self._arguments[index] = StreamedThought()
            if index in self._arguments:
                words = self._arguments[index].feed(call["args"] or "")
                self._emit_thought(f"call {index}", words)

    def finish(self, message: AIMessage) -> None:
        """Emit the thoughts and text that were not streamed; `message` is the whole answer."""
        if self._secrets:
            self._emit_text("", is_last=True)
        elif not self._events.keeps_text(message):
            words = self._separated("text", message.text)
            if words:
                self._events.on_text(words)
        streamed = [argument.text for argument in self._arguments.values()]
        calls = [call for call in message.tool_calls if call["name"] == tool_names.THINK_TOOL]
        for number, call in enumerate(calls):
            thought = str(call["args"].get(_THOUGHT_ARGUMENT, ""))
            if number >= len(streamed) or not streamed[number]:
                self._emit_thought(f"whole {number}", thought)
            elif thought.startswith(streamed[number]):
                rest = thought.removeprefix(streamed[number])
                self._emit_thought(self._source, rest)
        self._events.end()

    def _emit_text(self, words: str, *, is_last: bool = False) -> None:
        if not self._secrets:
            return
        masked = self._secrets.masked(self._held + words)
        end = len(masked) if is_last else self._secrets.settled(masked)
        settled = masked[:end]
        self._held = masked[end:]
        if settled:
            self._events.on_text(settled)

    def _emit_thought(self, source: str, words: str) -> None:
        shown = self._separated(source, words)
        if shown:
            self._events.on_thought(shown)

    def _separated(self, source: str, words: str) -> str:
        """Return the words, with a blank line before them if the last ones came from another
        source."""
        words = safe_text(words)
        if not words:
            return ""
        if self._source and source != self._source:
            words = f"\n\n{words}"
        self._source = source
        return words


class StreamedThought:
    """Extracts the thought from the streamed arguments of a think-tool call."""

    def __init__(self) -> None:
        self.text = ""
        self._json = ""

    def feed(self, piece: str) -> str:
        """Add a piece of the arguments (JSON); return the words that it adds to the thought."""
        self._json += piece
        try:
            arguments = from_json(self._json, allow_partial="trailing-strings")
        except (ValueError, TypeError):
            # Half of a surrogate pair, or not JSON; `finish` emits the thought from the whole
            # message.
            return ""
        if not isinstance(arguments, dict):
            return ""
        text = arguments.get(_THOUGHT_ARGUMENT)
        if not isinstance(text, str) or not text.startswith(self.text):
            return ""
        words = text.removeprefix(self.text)
        self.text = text
        return words


class Reply(NamedTuple):
    """A model's answer."""

    message: AIMessage
    refused: tuple[str, ...] = ()
    """Ids of the tool calls whose results were left out because the provider's filter refused
    them."""
    reduced: tuple[ToolMessage, ...] = ()
    """Tool results without the passage that the filter refused."""
    shortened: int = 0
    """Number of tool results that were shortened to fit the window."""

    @property
    def withheld(self) -> list[ToolMessage]:
        """The messages that replace results that were refused, whole or in part."""
        return [*map(withheld_result, self.refused), *self.reduced]


class Withheld(NamedTuple):
    """What a content filter has taken out of tool results."""

    results: int
    """Number of results that it refused as a whole."""
    titles: tuple[str, ...]
    """Titles of the documents and pages whose text was left out of other results."""

    @classmethod
    def of(
        cls,
        messages: Iterable[AnyMessage],
        titles_by_number: Mapping[int, str] = MappingProxyType({}),
    ) -> Withheld:
        """Return what is missing in the results among these messages.

        `titles_by_number`: titles of the sources, which the results of a quick run do not contain.
        """
        refused = set[str]()
        titles = dict[str, None]()
        for message in messages:
            if not isinstance(message, ToolMessage):
                continue
            if message.text == withheld_result(message.tool_call_id).text:
                refused.add(message.tool_call_id)
            titles.update(dict.fromkeys(titles_left_out(message, titles_by_number)))
        return cls(len(refused), tuple(titles))


def without_thoughts(text: str) -> str:
    """Return a complete text of a model without the thoughts that it wrote into it, and without
    spaces around it."""
    return split_thoughts(text).text.strip()


async def ask_model(request: Request, context: Context, events: CallEvents) -> Reply:
    """Call the role's model and return its answer; thoughts, text and cost go to `events`, even if
    the call fails.

    Handles prompts that are too long, tool results that the provider's filter refuses, and models
    that turn out to call no tools. Raises a `DeepResearchError` if the model is given by name; a
    model instance from an app may raise its own errors.
    """
    try:
        return await _ask_once(request, context, events)
    except ToolsMissing:
        # A model that calls no tools gets small tasks, and the program decides for it.
        if request.role in _WRITING or not RoleModels(context).is_small(request.role):
            raise
        return await _ask_once(request, RoleModels(context).without_model(request.role), events)


async def _ask_once(request: Request, context: Context, events: CallEvents) -> Reply:
    """Do what `ask_model` does with the model that is set; raises `ToolsMissing` if it calls no
    tools."""
    start = context.clock.seconds()
    events.has_shown = False
    try:
        retries = retry_budget_of(request.question_id, context.limits, context.clock)
        model = chat_model_for(request, context, events, retries).bind_tools(
            request.tools,
            tool_choice=request.tool_choice,
            asks_user=request.asks_user,
            hides_tools=request.hides_tools,
            shows_text=request.shows_text,
        )
        # What is known about the model decides its window and output limit.
        await model.get_ready(request.messages)
        tool_tokens = len(json.dumps(list(request.tools))) // CHARACTERS_PER_TOKEN
        profile = profile_of(request.role, context)
        room = profile.window - tool_tokens
        if request.max_tokens is not None:
            room -= profile.output_tokens(request.max_tokens)
        messages: list[AnyMessage] = []
        for message in request.messages:
            if mark_of(message) == "report":
                # Earlier reports keep their citations, but not their lists of sources and notes.
                message = message.model_copy(update={"content": read_body(message.text)})
            messages.append(message)
        fitted = fit_window(messages, room, request.shorten)
        call = _Call(request._replace(messages=fitted), model, context, events, retries)
        reply = await call.reply()
        shortened = 0
        for message, sent in zip(messages, fitted, strict=True):
            if isinstance(message, ToolMessage) and message != sent:
                shortened += 1
        return reply._replace(shortened=shortened)
    finally:
        # A call may fail or be cut off in the middle of a thought.
        events.end()
        events.bill.seconds += context.clock.seconds() - start


class _Call(NamedTuple):
    """A call of a role's model."""

    request: Request
    model: WrappingChatModel
    context: Context
    events: CallEvents
    retries: RetryBudget

    async def reply(self) -> Reply:
        """Make the call, and repeat it with a changed request as long as `Remedies` knows one."""
        role = self.request.role
        remedies = Remedies(self.request)
        while True:
            try:
                message = await self._answer(remedies.request.messages)
                return Reply(message, remedies.left_out, remedies.reduced)
            except ToolsMissing:
                # The outcome of a trial, which needs no line in the log.
                raise
            except Exception as error:
                name = profile_of(role, self.context).name
                kind = fault_kind(error)
                who = RoleModels(self.context).subject(role)
                ours = explain(error, who, has_answered=self.retries.has_answered(name))
                if kind is None or self.events.has_shown or not remedies.apply(error, kind):
                    is_known = kind is not None or isinstance(error, DeepResearchError)
                    if not is_known and not is_named(role, self.context):
                        raise
                    if isinstance(ours, UserMistake):
                        logger.warning("%s", ours)
                    else:
                        log_failure(__name__, error, "The %s's model failed: %s", role, ours)
                    # The provider's message may contain the key.
                    raise ours from None
                log_failure(
                    __name__,
                    error,
                    "The %s's model failed (%s); retrying with a changed request",
                    role,
                    kind,
                )
                self.events.on_restart()

    async def _answer(self, messages: Sequence[AnyMessage]) -> AIMessage:
        """Make the call once, emit thoughts and text as they arrive, and return the whole
        answer."""
        events, request = self.events, self.request
        secrets: Secrets | None = None
        if not request.tools or request.tool_choice == "none" or request.shows_text:
            secrets = Secrets(self.context.mcp)
        emitter = AnswerEmitter(events, secrets)
        answer: AIMessage | None = None
        async with aclosing(self.model.astream([*messages])) as parts:
            async for chunk in parts:
                part = cast(AnswerPart, chunk)
                answer = part.answer
                if part.is_restart:
                    events.on_restart()
                    emitter = AnswerEmitter(events, secrets)
                elif not answer:
                    emitter.feed(part)
        assert answer is not None, "the last part has the answer"
        if secrets:
            answer = answer.model_copy(update={"content": secrets.masked(answer.text)})
        emitter.finish(answer)
        return answer


class Remedies:
    """Changes a request so that it may succeed after a failure."""

    def __init__(self, request: Request) -> None:
        self.left_out: tuple[str, ...] = ()
        """Ids of the tool calls whose results are left out."""
        self._request = request
        self._applied = set[FaultKind]()
        """Kinds of failures after which the request was changed."""
        self._suspects: Iterator[_Suspect] | None = None
        """What to leave out next; None before the first refusal."""
        self._passage: ShownPassage | None = None
        """The only passage that is left out of a result."""

    @property
    def request(self) -> Request:
        """The request for the next try, without what was refused."""
        messages: list[AnyMessage] = []
        for message in self._request.messages:
            if isinstance(message, ToolMessage):
                message = self._without_refused(message)
            messages.append(message)
        return self._request._replace(messages=messages)

    @property
    def reduced(self) -> tuple[ToolMessage, ...]:
        """The tool result from which a passage is left out."""
        results: list[ToolMessage] = []
        for message in self._request.messages:
            if isinstance(message, ToolMessage) and self._is_reduced(message):
                results.append(self._without_refused(message))
        return tuple(results)

    def _is_reduced(self, message: ToolMessage) -> bool:
        return self._passage is not None and message.tool_call_id == self._passage.call_id

    def _without_refused(self, message: ToolMessage) -> ToolMessage:
        if message.tool_call_id in self.left_out:
            return withheld_result(message.tool_call_id)
        if self._passage is not None and self._is_reduced(message):
            return self._passage.taken_out(message)
        return message

    def apply(self, error: Exception, kind: FaultKind) -> bool:
        """Change the request after this failure; return whether to try again."""
        if kind == "refused":
            if self._suspects is None:
                is_answer = isinstance(error, AnswerRefused)
                # A refused prompt costs nothing, so that the passage itself can be found.
                suspects = _suspects(self._request.messages, has_passages=not is_answer)
                self._suspects = iter(suspects)
                # An answer may be refused by chance: retry once unchanged. So is a prompt of which
                # nothing can be left out; any other prompt would only be refused again.
                may_pass = isinstance(error, AnswerFiltered) or is_answer == bool(suspects)
                if may_pass:
                    return True
            suspect = next(self._suspects, _Suspect())
            self.left_out, self._passage = suspect
            logger.info("Left out of a call that a filter refused: %s", suspect)
            return suspect != _Suspect()
        if kind in self._applied:
            return False
        self._applied.add(kind)
        if kind != "long":
            return False
        messages = self._request.messages
        shorter = fit_window(messages, estimated_tokens(messages) // 2, self._request.shorten)
        self._request = self._request._replace(messages=shorter)
        return shorter != list(messages)


class _Suspect(NamedTuple):
    """What a filter may have refused."""

    call_ids: tuple[str, ...] = ()
    """Tool calls with their whole results."""
    passage: ShownPassage | None = None
    """A single passage in a result."""


def _suspects(messages: Sequence[AnyMessage], *, has_passages: bool) -> list[_Suspect]:
    """Return what to leave out, in order: of up to three results, each passage alone and the whole
    result, then these results together.

    The first result is the longest of the newest round of calls; `has_passages`: whether passages
    are tried alone.
    """
    rounds: list[list[ToolMessage]] = [[]]
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id:
            rounds[-1].append(message)
        else:
            rounds.append([])
    results: list[ToolMessage] = []
    for of_round in reversed(rounds):
        for result in sorted(of_round, key=lambda result: len(result.text), reverse=True):
            if is_result(result):
                results.append(result)
    results = results[:_SUSPECTS]
    suspects: list[_Suspect] = []
    for result in results:
        passages = ShownPassage.all_in(result)
        if has_passages and len(passages) > 1:
            longest = sorted(passages, key=lambda passage: -passage.characters)
            for passage in longest[:_SUSPECT_PASSAGES]:
                suspects.append(_Suspect(passage=passage))
        suspects.append(_Suspect((result.tool_call_id,)))
    if len(results) > 1:
        suspects.append(_Suspect(tuple(result.tool_call_id for result in results)))
    return suspects
