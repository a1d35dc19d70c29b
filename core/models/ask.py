"""Asks a role's model for one answer: fits the prompt, streams the reply, and changes the request if it fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from functools import partial
from itertools import groupby
from typing import NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolMessage
from pydantic_core import from_json

from ..evidence.citations.rendering import read_body
from ..run import tool_names
from ..run.context import Context
from ..run.conversation import mark_of, safe_text
from ..run.errors import UserMistake
from ..run.events.call import CallEvents
from ..run.logs import Secrets, log_failure
from ..run.transcripts import (
    BROKEN,
    CHARACTERS_PER_TOKEN,
    WITHHELD_NOTICE,
    estimated_tokens,
    finish_of,
    fit_window,
    is_result,
)
from .abilities import ability_of, other_ability, remember_ability, with_learned
from .caller import Assembly, Caller, bind_call
from .extractive.chat import ExtractiveChatModel
from .faults import (
    AnswerRefused,
    FaultKind,
    PromptCut,
    cut_short,
    explain,
    explain_any,
    fault_kind,
    is_transient,
    retry_reason,
)
from .ladder.reply import Piece, ThoughtFilter, read_reply, reasoning_of, split_thoughts
from .ladder.rungs import Ability, prepare
from .ladder.written_calls import CallGuard
from .request import Request
from .resolve import is_named, model_host, output_tokens, profile_of, resolve_model
from .retries import has_words, retry_budget_of

logger = logging.getLogger(__name__)

_THOUGHT_ARGUMENT = "reasoning"
"""Argument of the think tool."""
_SMALLEST_WINDOW = 128
"""Smallest plausible window in tokens; a smaller reported count is wrong, or covers only the uncached part."""
_READ_SHARE = 2 / 3
"""Minimum ratio of reported to estimated prompt tokens; below it, the server did not read the whole prompt."""
_TEMPERATURE = 0.1
"""Default temperature of models that write calls as text."""
_SUSPECTS = 3
"""Maximum number of results that are left out, one at a time, while the provider's filter refuses the call."""


class AnswerEmitter:
    """Emits the thoughts and text of one answer as its chunks arrive."""

    def __init__(self, events: CallEvents, secrets: Secrets, *, is_prose: bool, begins_inside: bool) -> None:
        """`is_prose`: emit text as it arrives instead of in `finish`; `begins_inside`: see `ThoughtFilter`."""
        self.text = ""
        """The text so far, without leaked thoughts."""
        self._events = events
        self._is_prose = is_prose
        self._filter = ThoughtFilter(begins_inside=begins_inside, hides_calls=is_prose)
        self._guard = CallGuard() if is_prose else None
        self._secrets, self._held = secrets, ""
        self._arguments: dict[int, StreamedThought] = {}
        self._source = ""

    def feed(self, chunk: AIMessage) -> None:
        """Read the next chunk, or the whole message of a model that cannot stream."""
        self._think("native", reasoning_of(chunk))
        self._take(self._filter.feed(chunk.text))
        for part in chunk.tool_call_chunks if isinstance(chunk, AIMessageChunk) else ():
            index = part["index"] or 0
            if part["name"] == tool_names.THINK_TOOL:
                self._arguments[index] = StreamedThought()
            if index in self._arguments:
                self._think(f"call {index}", self._arguments[index].feed(part["args"] or ""))

    def finish_stream(self) -> None:
        """Emit buffered text after the last chunk."""
        self._take(self._filter.finish())
        if self._guard:
            self._say(self._guard.finish())
        self._say("", is_last=True)

    def finish(self, message: AIMessage) -> None:
        """Emit those thoughts and text of the whole answer that were not streamed."""
        if not self._is_prose and (words := self._separated("text", message.text)):
            self._events.on_text(words)
        streamed = [argument.text for argument in self._arguments.values()]
        for number, call in enumerate(call for call in message.tool_calls if call["name"] == tool_names.THINK_TOOL):
            thought = str(call["args"].get(_THOUGHT_ARGUMENT, ""))
            shown = streamed[number] if number < len(streamed) else ""
            if thought.startswith(shown):
                self._think(self._source if shown else f"whole {number}", thought[len(shown) :])
        self._events.end()

    def _take(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if piece.kind == "thought":
                self._think("leaked", piece.words)
                continue
            words = safe_text(piece.words)
            self._say(self._guard.feed(words) if self._guard else words)

    def _say(self, words: str, *, is_last: bool = False) -> None:
        words = self._secrets.masked(self._held + words)
        end = len(words) if is_last else self._secrets.settled(words)
        words, self._held = words[:end], words[end:]
        self.text += words
        if self._is_prose and words:
            self._events.on_text(words)

    def _think(self, source: str, words: str) -> None:
        if words := self._separated(source, words):
            self._events.on_thought(words)

    def _separated(self, source: str, words: str) -> str:
        """Return the words, preceded by a blank line if the last words came from another source."""
        if not (words := safe_text(words)):
            return ""
        separator = "\n\n" if self._source and source != self._source else ""
        self._source = source
        return separator + words


class StreamedThought:
    """Extracts the text of a think-tool call from partial JSON."""

    def __init__(self) -> None:
        self.text = ""
        self._json = ""

    def feed(self, piece: str) -> str:
        """Add a piece of JSON; return the new words of the thought."""
        self._json += piece
        try:
            read = from_json(self._json, allow_partial="trailing-strings")
        except (ValueError, TypeError):
            # Half of a surrogate pair, or not JSON; `finish` emits the thought from the whole message.
            return ""
        text = read.get(_THOUGHT_ARGUMENT) if isinstance(read, dict) else None
        if not isinstance(text, str) or not text.startswith(self.text):
            return ""
        words, self.text = text[len(self.text) :], text
        return words


class Reply(NamedTuple):
    """A model's answer."""

    message: AIMessage
    refused: tuple[str, ...] = ()
    """Ids of the calls whose results were withheld because the provider's filter refused them."""
    shortened: int = 0
    """Number of results shortened to fit the window."""


async def ask_model(request: Request, context: Context, events: CallEvents) -> Reply:
    """Call the role's model; `events` emits thoughts, text and cost, even for a failed call.

    Handles prompts that are too long, results that the provider's filter refuses, and servers without tool calling.
    Models given by name raise only errors of this package; model instances from an app raise their own.
    """
    start = context.clock.seconds()
    events.has_shown = False
    try:
        caller = Caller(request.role, context, retry_budget_of(request.question_id, context.limits), events)
        needs_tools = bool(request.tools) or any(isinstance(message, ToolMessage) for message in request.messages)
        ability = await ability_of(caller, may_try=needs_tools, has_tools=_may_call(request))
        tool_tokens = len(json.dumps(list(request.tools))) // CHARACTERS_PER_TOKEN
        answer_tokens = output_tokens(request.role, request.max_tokens, context) or 0
        room = profile_of(request.role, context).window - answer_tokens - tool_tokens
        # Earlier reports keep their citation marks, but not their list of sources and notes.
        shown = [
            message.model_copy(update={"content": read_body(message.text)}) if mark_of(message) == "report" else message
            for message in request.messages
        ]
        messages = fit_window(shown, room, request.shorten)
        reply = await _answer(request._replace(messages=messages), ability, caller)
        pairs = zip(shown, messages, strict=True)
        return reply._replace(shortened=sum(isinstance(old, ToolMessage) and old != new for old, new in pairs))
    finally:
        # A call may fail or be cut off in the middle of a thought.
        events.end()
        events.bill.seconds += context.clock.seconds() - start


async def _answer(request: Request, ability: Ability, caller: Caller) -> Reply:
    remedies, role, context = Remedies(request, caller.context), caller.role, caller.context
    while True:
        try:
            message = await stream_answer(remedies.request, ability, caller)
            return Reply(message, remedies.left_out)
        except Exception as error:
            name = profile_of(role, context).name
            kind = fault_kind(error)
            ours = explain(error, role, name, has_answered=caller.retries.has_answered(name))
            if kind is None or caller.events.has_shown or not remedies.meet(error, kind):
                if ours is None and not is_named(role, context):
                    raise
                if isinstance(ours, UserMistake):
                    logger.warning("%s", ours)
                else:
                    log_failure(__name__, error, "The %s's model failed: %s", role, ours or kind)
                # The provider's message may contain the key.
                raise ours or explain_any(error, role, name) from None
            log_failure(__name__, error, "The %s's model failed (%s); retrying with a changed request", role, kind)
            if kind == "no_tools":
                ability = await other_ability(caller, ability)
            caller.events.on_restart()


class Remedies:
    """Changes a request after a failure, as long as a retry makes sense."""

    def __init__(self, request: Request, context: Context) -> None:
        self.left_out: tuple[str, ...] = ()
        """Ids of the calls whose results are withheld."""
        self._request = request
        # If the user has set `tool_calls`, an error that names the setting is more helpful.
        self._may_change_rung = context.tool_calls == "auto"
        self._met = set[FaultKind]()
        self._suspects: Iterator[tuple[str, ...]] | None = None

    @property
    def request(self) -> Request:
        """The request for the next try."""
        messages = [
            withheld_result(call_id) if (call_id := _answered(message)) in self.left_out else message
            for message in self._request.messages
        ]
        return self._request._replace(messages=messages)

    def meet(self, error: Exception, kind: FaultKind) -> bool:
        """Change the request after a failure; return whether to try again."""
        if kind == "refused":
            if self._suspects is None:
                suspects = _suspects(self._request.messages)
                self._suspects = iter(suspects)
                # A refused prompt is always refused, but an answer may be refused by chance: retry once unchanged.
                if isinstance(error, AnswerRefused) and suspects:
                    return True
            self.left_out = next(self._suspects, ())
            logger.info("%d results are left out of a call that a filter refused", len(self.left_out))
            return bool(self.left_out)
        if kind in self._met:
            return False
        self._met.add(kind)
        if kind != "long":
            return kind == "no_tools" and self._may_change_rung
        messages = self._request.messages
        shorter = fit_window(messages, estimated_tokens(messages) // 2, self._request.shorten)
        self._request = self._request._replace(messages=shorter)
        return shorter != list(messages)


def withheld_result(call_id: str) -> ToolMessage:
    """Return the message that replaces a result refused by the provider's filter."""
    return ToolMessage(WITHHELD_NOTICE, tool_call_id=call_id)


def _suspects(messages: Sequence[AnyMessage]) -> list[tuple[str, ...]]:
    """Return the call ids of the results to leave out: each alone, then all; newest round first, longest first."""
    rounds = [list(group) for answers, group in groupby(messages, lambda each: bool(_answered(each))) if answers]
    suspected = [
        _answered(message)
        for results in reversed(rounds)
        for message in sorted(results, key=lambda message: len(message.text), reverse=True)
        if is_result(message)
    ][:_SUSPECTS]
    singles: list[tuple[str, ...]] = [(call_id,) for call_id in suspected]
    return singles if len(singles) < 2 else [*singles, tuple(suspected)]


def _answered(message: AnyMessage) -> str:
    """Return the id of the tool call that the message answers, or an empty string."""
    return message.tool_call_id if isinstance(message, ToolMessage) else ""


async def stream_answer(request: Request, ability: Ability, caller: Caller) -> AIMessage:
    """Return the whole answer with tool calls parsed and leaked thoughts removed.

    If the answer breaks off after text was shown, `keeps_broken` returns the part that arrived. Raises `AnswerCut`
    if the answer breaks off, `AnswerSilent`, `ModelFailed`, or errors of the model's client.
    """
    context, events, role = caller.context, caller.events, request.role
    prepared = prepare(ability.rung, request.messages, request.tools, request.tool_choice, request.words_name)
    model = resolve_model(role, context)
    most = output_tokens(role, request.max_tokens, context)
    settings = dict(prepared.settings)
    if isinstance(model, ExtractiveChatModel):
        settings["facts"] = request.facts
    elif ability.rung != "native" and getattr(model, "temperature", None) is None:
        # Local servers default to 0.8, which makes small models break the format.
        settings["temperature"] = _TEMPERATURE
    effort = ("low" if role == "researcher" else "") if context.effort == "auto" else context.effort
    effort = effort if profile_of(role, context).reasons else ""
    bound = bind_call(model, prepared.tools, request.tool_choice, most, effort, settings)
    # Only a stream shows that a long answer is still in progress.
    streamed = request.is_long or events.is_watched
    parts = caller.parts(bound, prepared.messages, is_long=request.is_long, is_streamed=streamed, most_tokens=most)
    is_prose, begins_inside = not _may_call(request), ability.begins_inside
    new_emitter = partial(AnswerEmitter, events, Secrets(context.mcp), is_prose=is_prose, begins_inside=begins_inside)
    answer, emitter = Assembly(), new_emitter()
    cut: Exception | None = None
    try:
        async with aclosing(parts):
            async for part, answer in parts:  # noqa: B007 - the last one is the whole answer
                if part is None:
                    events.on_restart()
                    emitter = new_emitter()
                else:
                    emitter.feed(part)
    except Exception as error:
        if not is_transient(error) or answer.whole is None or not has_words(answer.whole):
            raise
        log_failure(__name__, error, "An answer of the %s's model broke off", role)
        cut = cut_short(error, model_host(model))
    message = answer.message(role)
    # A failure after the end of the answer is harmless.
    if cut and not finish_of(message):
        if not (request.keeps_broken and events.has_shown):
            raise cut
        message = message.model_copy(update={"response_metadata": {**message.response_metadata, **BROKEN}})
        events.on_continue(retry_reason(cut))
    counted = message.usage_metadata["input_tokens"] if message.usage_metadata else 0
    expected = sum(len(sent.text) for sent in prepared.messages) // CHARACTERS_PER_TOKEN
    if _SMALLEST_WINDOW <= counted < _READ_SHARE * expected:
        # The server read only part of the prompt.
        raise PromptCut(counted, expected)
    emitter.finish_stream()
    whole = message.text
    shown = ability._replace(begins_inside=ability.begins_inside or split_thoughts(whole).began_inside)
    if with_learned(shown, model) != ability:
        await remember_ability(role, context, shown)
    # Search the unfiltered text for written calls: an argument may contain text that looks like a thought.
    text = safe_text(whole) if _may_call(request) else split_thoughts(emitter.text).text
    message = read_reply(message.model_copy(update={"content": text}), request.tools if _may_call(request) else ())
    emitter.finish(message)
    return message


def _may_call(request: Request) -> bool:
    return bool(request.tools) and request.tool_choice != "none"
