"""Asks a role's model for one answer: fits the prompt to its window, streams, and changes the
request if it fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolMessage
from pydantic_core import from_json

from ..dialogue.conversation import mark_of, safe_text
from ..dialogue.transcripts import (
    CHARACTERS_PER_TOKEN,
    as_broken_off,
    estimated_tokens,
    finish_of,
    fit_window,
    is_result,
    withheld_result,
)
from ..errors import DeepResearchError, UserMistake, log_failure
from ..events.call import CallEvents
from ..evidence.citations.rendering import read_body
from ..masking import Secrets
from ..records import tool_names
from ..settings.context import Context, Role
from .abilities import ability_of, other_ability, remember_ability, with_learned
from .caller import Assembly, Caller, bind_call
from .extractive.chat import ExtractiveChatModel
from .faults import (
    AnswerRefused,
    FaultKind,
    PromptCut,
    broken_off,
    explain,
    fault_kind,
    is_transient,
    retry_reason,
)
from .ladder.reply import Piece, ThoughtFilter, read_reply, reasoning_of, split_thoughts
from .ladder.rungs import Ability, prepare
from .ladder.written_calls import CallGuard
from .request import Request
from .resolve import is_named, model_host, output_tokens, profile_of, resolve_model
from .retries import has_content, retry_budget_of

logger = logging.getLogger(__name__)

_THOUGHT_ARGUMENT = "reasoning"
"""Argument of the think tool that contains the thought."""
_SMALLEST_WINDOW = 128
"""A server that reports fewer prompt tokens than this counts wrongly, or counts only uncached
tokens."""
_READ_SHARE = 2 / 3
"""If a server reports less than this share of the estimated prompt tokens, it did not read the
whole prompt."""
_TEMPERATURE = 0.1
"""Temperature for models that write calls as text, unless the model has one set."""
_SUSPECTS = 3
"""Maximum number of tool results to leave out, one at a time, while the provider's filter refuses
the prompt."""


class AnswerEmitter:
    """Sends the thoughts and text of one answer to `CallEvents` as its chunks arrive, with secrets
    masked."""

    def __init__(
        self, events: CallEvents, secrets: Secrets, *, is_prose: bool, begins_inside: bool
    ) -> None:
        """`is_prose`: emit text as it arrives instead of in `finish`; `begins_inside`: see
        `ThoughtFilter`."""
        self.text = ""
        """The text so far, without thoughts in it."""
        self._events = events
        self._is_prose = is_prose
        self._filter = ThoughtFilter(begins_inside=begins_inside, hides_calls=is_prose)
        self._guard = CallGuard() if is_prose else None
        self._secrets = secrets
        self._held = ""
        """Text withheld because it may be the beginning of a secret."""
        self._arguments: dict[int, StreamedThought] = {}
        """The calls of the think tool, by their index in the stream."""
        self._source = ""
        """Where the last emitted words came from; words from another source begin a new
        paragraph."""

    def feed(self, chunk: AIMessage) -> None:
        """Add the next chunk, or the whole message of a model that cannot stream."""
        self._emit_thought("native", reasoning_of(chunk))
        self._emit(self._filter.feed(chunk.text))
        if not isinstance(chunk, AIMessageChunk):
            return
        for part in chunk.tool_call_chunks:
            index = part["index"] or 0
            if part["name"] == tool_names.THINK_TOOL:
                self._arguments[index] = StreamedThought()
            if index in self._arguments:
                words = self._arguments[index].feed(part["args"] or "")
                self._emit_thought(f"call {index}", words)

    def finish_stream(self) -> None:
        """Emit the text that is still withheld after the last chunk."""
        self._emit(self._filter.finish())
        if self._guard:
            self._emit_text(self._guard.finish())
        self._emit_text("", is_last=True)

    def finish(self, message: AIMessage) -> None:
        """Emit the thoughts and text that were not streamed; `message` is the complete, parsed
        answer."""
        if not self._is_prose:
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

    def _emit(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if piece.kind == "thought":
                self._emit_thought("leaked", piece.words)
                continue
            words = safe_text(piece.words)
            if self._guard:
                words = self._guard.feed(words)
            self._emit_text(words)

    def _emit_text(self, words: str, *, is_last: bool = False) -> None:
        masked = self._secrets.masked(self._held + words)
        end = len(masked) if is_last else self._secrets.settled(masked)
        settled = masked[:end]
        self._held = masked[end:]
        self.text += settled
        if self._is_prose and settled:
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
    shortened: int = 0
    """Number of tool results that were shortened to fit the window."""


async def ask_model(request: Request, context: Context, events: CallEvents) -> Reply:
    """Call the role's model and return its answer; thoughts, text and cost go to `events`, even if
    the call fails.

    Handles prompts that are too long, tool results that the provider's filter refuses, and servers
    without tool calls. Raises a `DeepResearchError` if the model is given by name; a model instance
    from an app may raise its own errors.
    """
    start = context.clock.seconds()
    events.has_shown = False
    try:
        retries = retry_budget_of(request.question_id, context.limits)
        caller = Caller(request.role, context, retries, events)
        has_results = any(isinstance(message, ToolMessage) for message in request.messages)
        ability = await ability_of(
            caller, may_try=bool(request.tools) or has_results, has_tools=_may_call(request)
        )
        tool_tokens = len(json.dumps(list(request.tools))) // CHARACTERS_PER_TOKEN
        answer_tokens = output_tokens(request.role, request.max_tokens, context) or 0
        room = profile_of(request.role, context).window - answer_tokens - tool_tokens
        messages: list[AnyMessage] = []
        for message in request.messages:
            if mark_of(message) == "report":
                # Earlier reports keep their citations, but not their lists of sources and notes.
                message = message.model_copy(update={"content": read_body(message.text)})
            messages.append(message)
        fitted = fit_window(messages, room, request.shorten)
        reply = await _answer(request._replace(messages=fitted), ability, caller)
        shortened = 0
        for message, sent in zip(messages, fitted, strict=True):
            if isinstance(message, ToolMessage) and message != sent:
                shortened += 1
        return reply._replace(shortened=shortened)
    finally:
        # A call may fail or be cut off in the middle of a thought.
        events.end()
        events.bill.seconds += context.clock.seconds() - start


async def _answer(request: Request, ability: Ability, caller: Caller) -> Reply:
    """Make the call, and repeat it with a changed request as long as `Remedies` knows one."""
    role, context = caller.role, caller.context
    remedies = Remedies(request, context)
    while True:
        try:
            message = await _stream_answer(remedies.request, ability, caller)
            return Reply(message, remedies.left_out)
        except Exception as error:
            name = profile_of(role, context).name
            kind = fault_kind(error)
            ours = explain(error, role, name, has_answered=caller.retries.has_answered(name))
            if kind is None or caller.events.has_shown or not remedies.apply(error, kind):
                is_known = kind is not None or isinstance(error, DeepResearchError)
                if not is_known and not is_named(role, context):
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
            if kind == "no_tools":
                ability = await other_ability(caller, ability)
            caller.events.on_restart()


class Remedies:
    """Changes a request so that it may succeed after a failure."""

    def __init__(self, request: Request, context: Context) -> None:
        self.left_out: tuple[str, ...] = ()
        """Ids of the tool calls whose results are left out."""
        self._request = request
        # If the user has set `tool_calls`, the error names that setting instead.
        self._may_change_rung = context.tool_calls == "auto"
        self._applied = set[FaultKind]()
        """Kinds of failures after which the request was changed."""
        self._suspects: Iterator[tuple[str, ...]] | None = None
        """Results to leave out next (see `_suspects`); None before the first refusal."""

    @property
    def request(self) -> Request:
        """The request for the next try, with the refused results left out."""
        messages: list[AnyMessage] = []
        for message in self._request.messages:
            if isinstance(message, ToolMessage) and message.tool_call_id in self.left_out:
                message = withheld_result(message.tool_call_id)
            messages.append(message)
        return self._request._replace(messages=messages)

    def apply(self, error: Exception, kind: FaultKind) -> bool:
        """Change the request after this failure; return whether to try again."""
        if kind == "refused":
            if self._suspects is None:
                suspects = _suspects(self._request.messages)
                self._suspects = iter(suspects)
                # A refused prompt is always refused, but an answer may be refused by chance: retry
                # once unchanged.
                if isinstance(error, AnswerRefused) and suspects:
                    return True
            self.left_out = next(self._suspects, ())
            logger.info(
                "%d results are left out of a call that a filter refused", len(self.left_out)
            )
            return bool(self.left_out)
        if kind in self._applied:
            return False
        self._applied.add(kind)
        if kind != "long":
            return kind == "no_tools" and self._may_change_rung
        messages = self._request.messages
        shorter = fit_window(messages, estimated_tokens(messages) // 2, self._request.shorten)
        self._request = self._request._replace(messages=shorter)
        return shorter != list(messages)


def _suspects(messages: Sequence[AnyMessage]) -> list[tuple[str, ...]]:
    """Return which tool results to leave out (by call ids), in order: up to three alone, then these
    together.

    The first is the longest result of the newest round of calls.
    """
    rounds: list[list[ToolMessage]] = [[]]
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id:
            rounds[-1].append(message)
        else:
            rounds.append([])
    suspects: list[str] = []
    for results in reversed(rounds):
        for result in sorted(results, key=lambda result: len(result.text), reverse=True):
            if is_result(result):
                suspects.append(result.tool_call_id)
    suspects = suspects[:_SUSPECTS]
    singles: list[tuple[str, ...]] = [(call_id,) for call_id in suspects]
    if len(singles) < 2:
        return singles
    return [*singles, tuple(suspects)]


async def _stream_answer(request: Request, ability: Ability, caller: Caller) -> AIMessage:
    """Make the call and return the whole answer, with tool calls parsed and thoughts removed from
    the text.

    With `request.keeps_broken`, an answer that breaks off after text was shown is returned as far
    as it came. Raises `AnswerCut` if the answer breaks off otherwise, `AnswerSilent`,
    `ModelFailed`, `PromptCut`, or errors of the client.
    """
    context, events, role = caller.context, caller.events, request.role
    prepared = prepare(
        ability.rung, request.messages, request.tools, request.tool_choice, request.text_key
    )
    model = resolve_model(role, context)
    most_tokens = output_tokens(role, request.max_tokens, context)
    settings = dict(prepared.settings)
    if isinstance(model, ExtractiveChatModel):
        settings["facts"] = request.facts
    elif ability.rung != "native" and getattr(model, "temperature", None) is None:
        # Local servers default to 0.8, at which small models often break the format.
        settings["temperature"] = _TEMPERATURE
    effort = _effort(role, context)
    bound = bind_call(model, prepared.tools, request.tool_choice, most_tokens, effort, settings)
    parts = caller.parts(
        bound,
        prepared.messages,
        is_long=request.is_long,
        # Only a stream shows that a long answer is still in progress.
        is_streamed=request.is_long or events.is_watched,
        most_tokens=most_tokens,
    )
    may_call = _may_call(request)
    new_emitter = partial(
        AnswerEmitter,
        events,
        Secrets(context.mcp),
        is_prose=not may_call,
        begins_inside=ability.begins_inside,
    )
    answer = Assembly()
    emitter = new_emitter()
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
        if not is_transient(error) or answer.whole is None or not has_content(answer.whole):
            raise
        log_failure(__name__, error, "An answer of the %s's model broke off", role)
        cut = broken_off(error, model_host(model))
    message = answer.message(role)
    # If the answer had ended before the failure, nothing is missing.
    if cut and not finish_of(message).reason:
        if not (request.keeps_broken and events.has_shown):
            raise cut
        message = as_broken_off(message)
        events.on_continue(retry_reason(cut))
    _check_whole_prompt_was_read(message, prepared.messages)
    emitter.finish_stream()
    text = message.text
    begins_inside = ability.begins_inside or split_thoughts(text).began_inside
    shown = ability._replace(begins_inside=begins_inside)
    if with_learned(shown, model) != ability:
        await remember_ability(role, context, shown)
    if may_call:
        # Parse calls from the unfiltered text: an argument may contain text that looks like a
        # thought.
        message = message.model_copy(update={"content": safe_text(text)})
        message = read_reply(message, request.tools)
    else:
        prose = split_thoughts(emitter.text).text
        message = message.model_copy(update={"content": prose})
    emitter.finish(message)
    return message


def _check_whole_prompt_was_read(message: AIMessage, prompt: Sequence[AnyMessage]) -> None:
    """Raise `PromptCut` if the server counted far fewer tokens than the prompt has."""
    if not message.usage_metadata:
        return
    counted = message.usage_metadata["input_tokens"]
    expected = sum(len(sent.text) for sent in prompt) // CHARACTERS_PER_TOKEN
    if _SMALLEST_WINDOW <= counted < _READ_SHARE * expected:
        raise PromptCut(counted, expected)


def _effort(role: Role, context: Context) -> str:
    """Return the reasoning effort to request; empty for the provider's default, and for models that
    do not reason."""
    if not profile_of(role, context).reasons:
        return ""
    if context.effort == "auto":
        return "low" if role == "researcher" else ""
    return context.effort


def _may_call(request: Request) -> bool:
    """Whether the model may answer with a tool call."""
    return bool(request.tools) and request.tool_choice != "none"
