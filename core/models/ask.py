"""Asks a role's model for one answer: what it is shown, what is done when that fails, and how the answer is read."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from itertools import groupby
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolMessage
from langchain_core.runnables import Runnable
from pydantic_core import from_json

from ..evidence.citations.rendering import read_body
from ..run import tool_names
from ..run.context import Context, Role
from ..run.conversation import clean, mark_of
from ..run.errors import UserMistake
from ..run.events.call import CallEvents
from ..run.logs import log_failure
from ..run.secrets import Secrets
from ..run.transcripts import (
    BROKEN,
    CHARACTERS_PER_TOKEN,
    WITHHELD,
    finish_of,
    fit_window,
    is_result,
    tokens_of,
)
from .abilities import ability_of, other_ability, remember_ability, with_learned
from .caller import Assembly, Caller, bind_call
from .extractive import ExtractiveChatModel
from .faults import (
    AnswerRefused,
    Kind,
    PromptCut,
    cut_short,
    explain,
    is_transient,
    kind_of,
    retry_reason,
    unknown_failure,
)
from .ladder import Ability, Prepared, prepare, read_reply
from .ladder.reply import Piece, ThoughtFilter, reasoning_of, split
from .ladder.written_calls import CallGuard
from .request import Request
from .resolve import host_of, is_named, output_tokens, profile_of, resolve_model
from .retries import has_words, retry_budget_of

logger = logging.getLogger(__name__)

ARGUMENT = "reasoning"
SMALLEST_WINDOW = 128
"""Tokens that every server reads: one that counts fewer counts wrongly, or only what is new to it."""
READ_SHARE = 2 / 3
"""Share of a prompt's tokens, at four characters each, that a server which has read all of it counts at least."""
TEMPERATURE = 0.1
"""For models that write calls as text, if nobody has set one."""
SUSPECTS = 3
"""Results that are left out, one after the other, while the provider's filter refuses the call."""


class AnswerEmitter:
    """Follows the chunks of one answer, and emits its thoughts and words as they come."""

    def __init__(self, events: CallEvents, secrets: Secrets, *, is_prose: bool, begins_inside: bool) -> None:
        """`is_prose`: the text is emitted as it comes; else by `finish` only, once its calls were taken out.

        `begins_inside`: the text may begin within a thought; see `ThoughtFilter`.
        """
        self.text = ""
        """The text so far, without thoughts that leaked into it."""
        self._events = events
        self._is_prose = is_prose
        self._filter = ThoughtFilter(begins_inside=begins_inside, hides_calls=is_prose)
        self._guard = CallGuard() if is_prose else None
        self._secrets, self._held = secrets, ""
        self._arguments: dict[int, StreamedThought] = {}
        self._source = ""

    def feed(self, chunk: AIMessage) -> None:
        """Take the next chunk, or a whole message of a model that cannot stream."""
        self._think("native", reasoning_of(chunk))
        self._take(self._filter.feed(chunk.text))
        for part in chunk.tool_call_chunks if isinstance(chunk, AIMessageChunk) else ():
            index = part["index"] or 0
            if part["name"] == tool_names.THINK_TOOL:
                self._arguments[index] = StreamedThought()
            if index in self._arguments:
                self._think(f"call {index}", self._arguments[index].feed(part["args"] or ""))

    def finish_stream(self) -> None:
        """Take what was held back, as no more chunks come."""
        self._take(self._filter.finish())
        if self._guard:
            self._say(self._guard.finish())
        self._say("", is_last=True)

    def finish(self, message: AIMessage) -> None:
        """Emit what the stream did not show of the thoughts and words of the whole answer."""
        if not self._is_prose and (words := self._set_apart("text", message.text)):
            self._events.on_text(words)
        streamed = [argument.text for argument in self._arguments.values()]
        for number, call in enumerate(call for call in message.tool_calls if call["name"] == tool_names.THINK_TOOL):
            thought, shown = str(call["args"].get(ARGUMENT, "")), streamed[number] if number < len(streamed) else ""
            if thought.startswith(shown):
                self._think(self._source if shown else f"whole {number}", thought[len(shown) :])
        self._events.end()

    def _take(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if piece.kind == "thought":
                self._think("leaked", piece.words)
                continue
            words = clean(piece.words)
            self._say(self._guard.feed(words) if self._guard else words)

    def _say(self, words: str, *, is_last: bool = False) -> None:
        words = self._secrets.masked(self._held + words)
        end = len(words) if is_last else self._secrets.settled(words)
        words, self._held = words[:end], words[end:]
        self.text += words
        if self._is_prose and words:
            self._events.on_text(words)

    def _think(self, source: str, words: str) -> None:
        if words := self._set_apart(source, words):
            self._events.on_thought(words)

    def _set_apart(self, source: str, words: str) -> str:
        """Return the words, with a blank line before them if another source spoke last."""
        words = clean(words)
        if not words:
            return ""
        separator = "\n\n" if self._source and source != self._source else ""
        self._source = source
        return separator + words


class StreamedThought:
    """The text of a call of the think tool, as the JSON around it arrives in pieces."""

    def __init__(self) -> None:
        self.text = ""
        """What was read so far."""
        self._json = ""

    def feed(self, piece: str) -> str:
        """Take a piece of JSON; returns the words that it adds."""
        self._json += piece
        try:
            read = from_json(self._json, allow_partial="trailing-strings")
        except (ValueError, TypeError):
            # Half of a surrogate pair, or no JSON at all: the whole message tells later.
            return ""
        text = read.get(ARGUMENT) if isinstance(read, dict) else None
        if not isinstance(text, str) or not text.startswith(self.text):
            return ""
        words, self.text = text[len(self.text) :], text
        return words


class Reply(NamedTuple):
    """What a model answered."""

    message: AIMessage
    refused: tuple[str, ...] = ()
    """Ids of the calls whose results the model was not shown, because its provider's filter refused them."""
    shortened: int = 0
    """How many results did not fit its window whole."""


async def ask_model(request: Request, context: Context, events: CallEvents) -> Reply:
    """Call the role's model; `events` emits thoughts and words as they come, and the cost, also of a failure.

    Copes with prompts that are too long, results that the provider's filter refuses, and servers without tool calling.
    Raises errors of this package where the model goes by a name, and those of an app's own model as they are.
    """
    start = context.clock.seconds()
    events.has_shown = False
    try:
        return await _ask(request, context, events)
    finally:
        # A call may break off, or be cut off, in the middle of a thought.
        events.end()
        events.bill.seconds += context.clock.seconds() - start


async def _ask(request: Request, context: Context, events: CallEvents) -> Reply:
    caller = Caller(request.role, context, retry_budget_of(request.question_id, context.limits), events)
    needs_tools = bool(request.tools) or any(isinstance(message, ToolMessage) for message in request.messages)
    may_call = bool(request.tools) and request.tool_choice != "none"
    ability = await ability_of(caller, may_try=needs_tools, has_tools=may_call)
    tools = len(json.dumps(list(request.tools))) // CHARACTERS_PER_TOKEN
    room = (
        profile_of(request.role, context).window
        - (output_tokens(request.role, request.max_tokens, context) or 0)
        - tools
    )
    shown = [_shown(message) for message in request.messages]
    messages = fit_window(shown, room, request.shorten)
    reply = await _answer(request._replace(messages=messages), ability, caller)
    shortened = sum(isinstance(one, ToolMessage) and one != other for one, other in zip(shown, messages, strict=True))
    return reply._replace(shortened=shortened)


async def _answer(request: Request, ability: Ability, caller: Caller) -> Reply:
    remedies, role, context = Remedies(request, caller.context), caller.role, caller.context
    while True:
        try:
            message = await stream_answer(remedies.request, ability, caller)
            return Reply(message, remedies.left_out)
        except Exception as error:
            name = profile_of(role, context).name
            kind = kind_of(error)
            ours = explain(error, role, name, has_answered=caller.retries.has_answered(name))
            if kind is None or caller.events.has_shown or not remedies.meet(error, kind):
                if ours is None and not is_named(role, context):
                    raise
                if isinstance(ours, UserMistake):
                    logger.warning("%s", ours)
                else:
                    log_failure(__name__, error, "The %s's model failed: %s", role, ours or kind)
                # Without the provider's own words, which may quote the key.
                raise ours or unknown_failure(role, error) from None
            log_failure(__name__, error, "The %s's model failed (%s) and is asked otherwise", role, kind)
            if kind == "no_tools":
                ability = await other_ability(caller, ability)
            caller.events.on_restart()


def _shown(message: AnyMessage) -> AnyMessage:
    """Return an earlier report with its marks, without its list of sources and its notes."""
    return message.model_copy(update={"content": read_body(message.text)}) if mark_of(message) == "report" else message


class Remedies:
    """The changes to a call that are still to be tried after a failure."""

    def __init__(self, request: Request, context: Context) -> None:
        self.left_out: tuple[str, ...] = ()
        """Ids of the calls whose results the model is not shown."""
        self._request = request
        # Where the user has set how tools are called, the line that names the setting helps more.
        self._may_change_rung = context.tool_calls == "auto"
        self._met = set[Kind]()
        self._suspects: Iterator[tuple[str, ...]] | None = None

    @property
    def request(self) -> Request:
        """The request as it is to be made now."""
        messages = [
            withheld_result(i) if (i := _answered(each)) in self.left_out else each for each in self._request.messages
        ]
        return self._request._replace(messages=messages)

    def meet(self, error: Exception, kind: Kind) -> bool:
        """Prepare the next try after a failure; return whether there is one."""
        if kind == "refused":
            return self._leave_out(error)
        is_new = kind not in self._met
        self._met.add(kind)
        if kind == "no_tools":
            return is_new and self._may_change_rung
        return kind == "long" and is_new and self._shorten()

    def _leave_out(self, error: Exception) -> bool:
        if self._suspects is None:
            self._suspects = iter(_suspects(self._request.messages))
            # A prompt that is refused is refused again; an answer may have been one of chance.
            if isinstance(error, AnswerRefused) and _suspects(self._request.messages):
                return True
        self.left_out = next(self._suspects, ())
        logger.info("%d results are left out of a call, as a filter refuses it", len(self.left_out))
        return bool(self.left_out)

    def _shorten(self) -> bool:
        messages = self._request.messages
        shorter = fit_window(messages, tokens_of(messages) // 2, self._request.shorten)
        self._request = self._request._replace(messages=shorter)
        return shorter != list(messages)


def withheld_result(call_id: str) -> ToolMessage:
    """Return what replaces a result that the provider's filter refused."""
    return ToolMessage(WITHHELD, tool_call_id=call_id)


def _suspects(messages: Sequence[AnyMessage]) -> list[tuple[str, ...]]:
    """Return the results to leave out, as ids of their calls: each alone, then all of them.

    Those of the newest round come first, of these the longest.
    """
    rounds = [list(group) for is_result, group in groupby(messages, lambda each: bool(_answered(each))) if is_result]
    suspected = [
        _answered(message)
        for results in reversed(rounds)
        for message in sorted(results, key=lambda message: len(message.text), reverse=True)
        if is_result(message)
    ][:SUSPECTS]
    singles: list[tuple[str, ...]] = [(call_id,) for call_id in suspected]
    return singles if len(singles) < 2 else [*singles, tuple(suspected)]


def _answered(message: AnyMessage) -> str:
    """Return the id of the call that the message answers; empty if it answers none."""
    return message.tool_call_id if isinstance(message, ToolMessage) else ""


async def stream_answer(request: Request, ability: Ability, caller: Caller) -> AIMessage:
    """Return the whole answer, with its calls as calls and without thoughts that leaked into it.

    Of an answer that breaks off when words of it were shown, the request may ask for what came. Raises what the
    model's client raises, `AnswerCut` where that came in the middle of the answer, `AnswerSilent`, or `ModelFailed`.
    """
    context, events = caller.context, caller.events
    prepared = prepare(ability.rung, request.messages, request.tools, request.tool_choice, request.words_name)
    model = resolve_model(request.role, context)
    most = output_tokens(request.role, request.max_tokens, context)
    bound = _bound(model, request, prepared, ability, context)
    # A long answer shows by its words that it is still coming.
    streamed = request.is_long or events.is_watched
    parts = caller.parts(bound, prepared.messages, is_long=request.is_long, is_streamed=streamed, most_tokens=most)
    answer, emitter = Assembly(), _emitter_for(request, ability, caller)
    cut: Exception | None = None
    try:
        async with aclosing(parts):
            async for part, answer in parts:  # noqa: B007 - the last one is the whole answer
                if part is None:
                    events.on_restart()
                    emitter = _emitter_for(request, ability, caller)
                else:
                    emitter.feed(part)
    except Exception as error:
        if not is_transient(error) or answer.whole is None or not has_words(answer.whole):
            raise
        log_failure(__name__, error, "An answer of the %s's model broke off", request.role)
        cut = cut_short(error, host_of(model))
    message = answer.message(request.role)
    # What breaks behind the end of an answer breaks nothing.
    if cut and not finish_of(message):
        if not (request.keeps_broken and events.has_shown):
            raise cut
        message = message.model_copy(update={"response_metadata": {**message.response_metadata, **BROKEN}})
        events.on_continue(retry_reason(cut))
    _check_read(message, prepared.messages)
    emitter.finish_stream()
    whole = message.text
    shown = ability._replace(begins_inside=ability.begins_inside or split(whole).began_inside)
    if with_learned(shown, model) != ability:
        await remember_ability(request.role, context, shown)
    # Calls written as text are looked for in all of it: an argument may quote what looks like a thought.
    text = clean(whole) if _may_call(request) else split(emitter.text).text
    message = read_reply(message.model_copy(update={"content": text}), request.tools if _may_call(request) else ())
    emitter.finish(message)
    return message


def _check_read(message: AIMessage, sent: Sequence[AnyMessage]) -> None:
    """Raise `PromptCut` if the server counts far fewer tokens than were sent."""
    counted = message.usage_metadata["input_tokens"] if message.usage_metadata else 0
    expected = sum(len(one.text) for one in sent) // CHARACTERS_PER_TOKEN
    if SMALLEST_WINDOW <= counted < READ_SHARE * expected:
        raise PromptCut(counted, expected)


def _may_call(request: Request) -> bool:
    """Return whether the answer can be a call."""
    return bool(request.tools) and request.tool_choice != "none"


def _emitter_for(request: Request, ability: Ability, caller: Caller) -> AnswerEmitter:
    secrets, is_prose = Secrets(caller.context.mcp), not _may_call(request)
    return AnswerEmitter(caller.events, secrets, is_prose=is_prose, begins_inside=ability.begins_inside)


def _bound(
    model: BaseChatModel, request: Request, prepared: Prepared, ability: Ability, context: Context
) -> Runnable[Any, Any]:
    most, effort = output_tokens(request.role, request.max_tokens, context), _effort(request.role, context)
    settings = dict(prepared.settings)
    if isinstance(model, ExtractiveChatModel):
        settings["facts"] = request.facts
    elif ability.rung != "native" and getattr(model, "temperature", None) is None:
        # Local servers take 0.8 where nothing is said, and small models lose the form by it.
        settings["temperature"] = TEMPERATURE
    return bind_call(model, prepared.tools, request.tool_choice, most, effort, settings)


def _effort(role: Role, context: Context) -> str:
    if not profile_of(role, context).reasons:
        return ""
    if context.effort == "auto":
        return "low" if role == "researcher" else ""
    return context.effort
