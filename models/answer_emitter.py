"""Emits the thoughts and words of an answer while it is streamed."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AIMessageChunk
from pydantic_core import from_json

from ..run import tool_names
from ..run.conversation import clean
from ..run.events.call import CallEvents
from .deltas import reasoning_of
from .ladder.thoughts import Piece, ThoughtFilter

ARGUMENT = "reasoning"


class AnswerEmitter:
    """Follows the chunks of one answer, and emits its thoughts and words as they come."""

    def __init__(self, events: CallEvents, *, is_prose: bool, begins_inside: bool) -> None:
        """`is_prose`: the text is emitted as it comes; else by `finish` only, once its calls were taken out.

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
        """Take what was held back, as no more chunks come."""
        self._take(self._filter.finish())

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
            self.text += words
            if self._is_prose and words:
                self._events.on_text(words)

    def _think(self, source: str, words: str) -> None:
        if words := self._set_apart(source, words):
            self._events.on_thought(words)

    def _set_apart(self, source: str, words: str) -> str:
        """The words, with a blank line before them where another source has spoken last."""
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
