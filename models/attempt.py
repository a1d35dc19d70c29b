"""One answer of a model, from the first try to the whole message: streamed, watched, passed on, asked for less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import aclosing
from itertools import groupby
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolMessage
from langchain_core.runnables import Runnable
from pydantic_core import from_json

from ..run import tool_names
from ..run.calls import BROKEN, finish_of, is_word_of_ours
from ..run.context import Context, Role
from ..run.conversation import clean
from ..run.events.call import CallEvents
from ..run.transcripts import FAILED, WITHHELD, fit, tokens_of
from .abilities import Ability, remember
from .caller import Assembly, Caller, bind_call
from .deltas import reasoning_of
from .extractive import ExtractiveChatModel
from .faults import AnswerRefused, Kind, cut_short, is_transient, reason_of
from .ladder import Prepared, prepare, read_reply
from .ladder.thoughts import Piece, ThoughtFilter, split
from .patience import has_words
from .providers import host_of
from .request import Request, output_tokens
from .resolve import profile_of, resolve_model

ARGUMENT = "reasoning"


class Narration:
    """Follows the chunks of one answer."""

    def __init__(self, events: CallEvents, *, is_prose: bool, begins_inside: bool) -> None:
        """`is_prose`: the text is told as it comes; else it is told by `finish` only, once its calls were taken out.

        `begins_inside`: the text may begin within a thought; see `ThoughtFilter`.
        """
        self.text = ""
        """The text so far, without thoughts that leaked into it."""
        self._events = events
        self._is_prose = is_prose
        self._filter = ThoughtFilter(begins_inside=begins_inside, hides_calls=is_prose)
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
        """No more chunks come."""
        self._take(self._filter.finish())

    def finish(self, message: AIMessage) -> None:
        """Tell what the stream did not show of the answer's thoughts and words, and close the thoughts."""
        if not self._is_prose and (words := self._apart("text", message.text)):
            self._events.on_text(words)
        told = [argument.text for argument in self._arguments.values()]
        for number, call in enumerate(call for call in message.tool_calls if call["name"] == tool_names.THINK_TOOL):
            thought, shown = str(call["args"].get(ARGUMENT, "")), told[number] if number < len(told) else ""
            if thought.startswith(shown):
                self._think(f"whole {number}" if not shown else self._source, thought[len(shown) :])
        self._events.end()

    def _take(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if piece.kind == "thought":
                self._think("leaked", piece.words)
                continue
            words = clean(piece.words)
            self.text += words
            if self._is_prose and words:
                self._events.on_text(words)

    def _think(self, source: str, words: str) -> None:
        if words := self._apart(source, words):
            self._events.on_thought(words)

    def _apart(self, source: str, words: str) -> str:
        """The words, set apart from what another source has told before them."""
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


SUSPECTS = 3
"""Results that are left out, one after the other, while the provider's filter refuses the call."""


class Remedies:
    """What is still to be tried for one call."""

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
        messages = [left_out(i) if (i := _answered(each)) in self.left_out else each for each in self._request.messages]
        return self._request._replace(messages=messages)

    def meet(self, error: Exception, kind: Kind) -> bool:
        """Prepare the next try after a failure; whether there is one."""
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
        return bool(self.left_out)

    def _shorten(self) -> bool:
        messages = self._request.messages
        shorter = fit(messages, tokens_of(messages) // 2, self._request.shorten)
        self._request = self._request._replace(messages=shorter)
        return shorter != list(messages)


def left_out(call_id: str) -> ToolMessage:
    """What stands in the place of a result that the provider's filter refused."""
    return ToolMessage(WITHHELD, tool_call_id=call_id)


def _suspects(messages: Sequence[AnyMessage]) -> list[tuple[str, ...]]:
    """Which results to leave out, as ids of their calls: each alone, and all if none of them was the only one.

    Those of the newest round come first, of these the longest.
    """
    rounds = [list(group) for is_result, group in groupby(messages, lambda each: bool(_answered(each))) if is_result]
    suspected = [
        _answered(message)
        for results in reversed(rounds)
        for message in sorted(results, key=lambda message: len(message.text), reverse=True)
        if _is_from_outside(message.text)
    ][:SUSPECTS]
    singles: list[tuple[str, ...]] = [(call_id,) for call_id in suspected]
    return singles if len(singles) < 2 else [*singles, tuple(suspected)]


def _is_from_outside(result: str) -> bool:
    """Whether a result holds what a document, a page or a researcher says."""
    return not result.startswith((WITHHELD, FAILED)) and not is_word_of_ours(result)


def _answered(message: AnyMessage) -> str:
    """The id of the call that the message answers; empty if it answers none."""
    return message.tool_call_id if isinstance(message, ToolMessage) else ""


async def stream_answer(request: Request, ability: Ability, caller: Caller) -> AIMessage:
    """The whole answer, with its calls as calls and without the thoughts that leaked into it.

    Of one that breaks off while it is heard, the request may have what came. Raises what the model's client raises,
    `AnswerCut` where that came in the middle of the answer, `AnswerSilent`, or `ModelFailed`.
    """
    context, events = caller.context, caller.events
    prepared = prepare(ability.rung, request.messages, request.tools, request.tool_choice)
    model = resolve_model(request.role, context)
    bound = _bound(model, request, prepared, context)
    # A long answer shows by its words that it is still coming.
    streamed = request.is_long or events.is_watched
    parts = caller.parts(bound, prepared.messages, is_long=request.is_long, is_streamed=streamed)
    answer, narration = Assembly(), _narration(request, ability, events)
    cut: Exception | None = None
    try:
        async with aclosing(parts):
            async for part, answer in parts:  # noqa: B007 - the last one is the whole answer
                if part is None:
                    events.on_restart()
                    narration = _narration(request, ability, events)
                else:
                    narration.feed(part)
    except Exception as error:
        if not is_transient(error) or answer.whole is None or not has_words(answer.whole):
            raise
        cut = cut_short(error, host_of(model))
    message = answer.message(request.role)
    # What breaks behind the end of an answer breaks nothing.
    if cut and not finish_of(message):
        if not (request.keeps_broken and events.has_shown):
            raise cut
        message = message.model_copy(update={"response_metadata": {**message.response_metadata, **BROKEN}})
        events.on_continue(reason_of(cut))
    narration.finish_stream()
    whole = message.text
    if split(whole).began_inside and not ability.begins_inside:
        await remember(request.role, context, ability._replace(begins_inside=True))
    # Calls written as text are looked for in all of it: an argument may quote what looks like a thought.
    text = clean(whole) if request.may_call else split(narration.text).text
    message = read_reply(message.model_copy(update={"content": text}), request.tools if request.may_call else ())
    narration.finish(message)
    return message


def _narration(request: Request, ability: Ability, events: CallEvents) -> Narration:
    return Narration(events, is_prose=not request.may_call, begins_inside=ability.begins_inside)


def _bound(model: BaseChatModel, request: Request, prepared: Prepared, context: Context) -> Runnable[Any, Any]:
    most, effort = output_tokens(request, context), _effort(request.role, context)
    settings = (
        {**prepared.settings, "facts": request.facts} if isinstance(model, ExtractiveChatModel) else prepared.settings
    )
    return bind_call(model, prepared.tools, request.tool_choice, most, effort, settings)


def _effort(role: Role, context: Context) -> str:
    if not profile_of(role, context).reasons:
        return ""
    if context.effort == "auto":
        return "low" if role == "researcher" else ""
    return context.effort
