"""Parses a model's answer: separates thoughts from text, and finds tool calls wherever the model
wrote them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

from ...evidence.citations.markers import fence_after
from ...run.conversation import clean_nested
from ...run.transcripts import REASONING, UNREAD_FORM, was_cut_off
from .lenient import object_in
from .rungs import Offer, coerce, how_to_tag
from .written_calls import answer_in, find_calls

_BEFORE_MENTION = " \t(\"'“‘`"
"""Characters that may stand before a tag that a sentence only mentions."""
_WRAPPING = re.compile(
    r"```\w*\s*(?:```|\Z)|<[|｜][^<>|｜]*[|｜]>|\[/?TOOL_CALLS\]|</?(?:tool_calls?|tool|function|parameter)>"
)
"""Matches tags and empty fences that remain where a call was removed from a text."""
_BEGINS_AS_CALL = re.compile(
    r"\s*(?:```\w*\s*)?(?:[{\[]|<(?!/?think|/?reason|/?thought|\|channel\|>analysis))"
)
"""Matches the beginning of a text that starts with JSON or a tag other than that of a thought."""
_NOT_AN_OBJECT = "not an object"
_CUT = "cut off at the output limit"


def reasoning_of(message: AIMessage) -> str:
    """Return the thought that a message or chunk has beside its text, in any provider's form; empty
    if it has none."""
    kept = message.additional_kwargs.get(REASONING)
    if isinstance(kept, str) and kept:
        return kept
    if isinstance(message.content, str):
        return ""
    thoughts = list[str]()
    for block in (block for block in message.content if isinstance(block, dict)):
        if block.get("type") == "thinking":
            thoughts.append(_text(block.get("thinking")))
        elif block.get("type") == "reasoning":
            parts = block.get("summary") or []
            summary = "\n\n".join(
                _text(part.get("text")) for part in parts if isinstance(part, dict)
            )
            if parts and not summary and parts[0].get("index", 0) > 0:
                # The next part of a streamed summary begins.
                summary = "\n\n"
            thoughts.append(_text(block.get("reasoning")) or summary)
    return "".join(thoughts)


def _text(value: Any) -> str:
    """Return a text, or the joined texts of a list of content blocks; empty for anything else."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


class TagPair(NamedTuple):
    """The tags around a thought or call in the text of a model's answer."""

    kind: Literal["thought", "call"]
    openers: tuple[str, ...]
    closers: tuple[str, ...] = ()
    """If empty, the thought or call extends to the end of the text."""
    noise: tuple[str, ...] = ()
    """Other tags of the same format: within the thought or call they close it, elsewhere they are
    dropped."""
    is_special: bool = True
    """Whether the tags are control tokens of a model, which no sentence mentions."""


_THOUGHT = TagPair("thought", (), noise=("<answer>", "</answer>"), is_special=False)
_THOUGHT_TAG = r"</?(?:\w{1,20}:)?[a-z_-]{0,20}(?:think|thinking|thoughts?|reason|reasoning)>"
_BEGUN_TAG = re.compile(r"</?[\w:-]{0,60}\Z", re.ASCII)
_BLOCKS = (
    _THOUGHT,
    TagPair("thought", ("[THINK]",), ("[/THINK]",), is_special=False),
    TagPair("thought", ("◁think▷",), ("◁/think▷",)),
    TagPair("thought", ("<|channel>thought", "<|channel>analysis"), ("<channel|>",)),
    TagPair(
        "thought",
        (),
        noise=(
            *(
                "</s>",
                "<eos>",
                "<end_of_turn>",
                "<|im_end|>",
                "<|eot_id|>",
                "<|endoftext|>",
                "<|end_of_text|>",
            ),
            *("<|eom_id|>", "<|user|>", "<|assistant|>", "<｜end▁of▁sentence｜>", "[EOS]"),
        ),
    ),
    TagPair(
        "thought",
        ("<|channel|>analysis<|message|>",),
        ("<|channel|>final<|message|>", "assistantfinal"),
        noise=("<|end|>", "<|return|>", "<|start|>assistant", "<|channel|>commentary<|message|>"),
    ),
    *(
        TagPair("call", (f"<{name}>",), (f"</{name}>",), is_special=False)
        for name in (
            "tool_call",
            "tool_calls",
            "function_call",
            "function_calls",
            "tool_use",
            "minimax:tool_call",
        )
    ),
    TagPair("call", ("<tool name=",), ("</tool>",)),
    TagPair("call", ("<function=",), ("</function>",)),
    TagPair("call", ("<invoke name=",), ("</invoke>",)),
    TagPair("call", ("[TOOL_CALLS]",)),
    TagPair("call", ("<|python_tag|>",), ("<|eom_id|>", "<|eot_id|>")),
    TagPair("call", ("<|channel|>commentary to=",), ("<|call|>",)),
    TagPair("call", ("<|tool_call>", "<|tool_call|>"), ("<tool_call|>", "<|/tool_call|>")),
    TagPair("call", ("<|tool_calls_section_begin|>",), ("<|tool_calls_section_end|>",)),
    TagPair("call", ("<|tool_call_begin|>",), ("<|tool_call_end|>",)),
    TagPair("call", ("<｜tool▁calls▁begin｜>",), ("<｜tool▁calls▁end｜>",)),
)


class Piece(NamedTuple):
    """A part of an answer: text to show, or a thought."""

    kind: Literal["text", "thought"]
    words: str


class ThoughtFilter:
    """Separates the thoughts in a streamed text from the answer; the result does not depend on how
    it is chunked.

    Tags in a code fence, or that a sentence only mentions, are text. An unclosed thought extends to
    the end.
    """

    def __init__(self, *, begins_inside: bool = False, hides_calls: bool = False) -> None:
        """`begins_inside`: the text may begin with a thought that has only a closing tag, so it is
        withheld until then.

        Without it, such a closing tag stays in the text. `hides_calls`: drop calls that are written
        as text.
        """
        self.began_inside = False
        """Whether the text began with a thought that has only a closing tag; always false without
        `begins_inside`."""
        blocks = [block for block in _BLOCKS if hides_calls or block.kind == "thought"]
        self._tags = {
            tag.lower(): (role, block)
            for block in blocks
            for role, tags in (
                ("opener", block.openers),
                ("closer", block.closers),
                ("noise", block.noise),
            )
            for tag in tags
        }
        # The lookahead avoids trying the many tags at every position.
        starts = re.escape("".join({tag[0] for tag in self._tags}))
        tags = "|".join([*map(re.escape, self._tags), _THOUGHT_TAG])
        self._tag = re.compile(f"(?=[{starts}])(?:{tags})", re.IGNORECASE)
        self._beginnings = {tag[:length] for tag in self._tags for length in range(1, len(tag))}
        self._longest = max(map(len, self._tags))
        self._held = ""
        self._line = self._fence = ""
        self._undecided: list[str] | None = [] if begins_inside else None
        self._open: TagPair | None = None
        self._pieces: list[Piece] = []
        self._has_block = self._has_words = self._has_thought = self._is_thinking = False

    def feed(self, text: str) -> list[Piece]:
        """Add the next piece of the stream; return the pieces that are now certain to be text or
        thought."""
        text = self._held + text
        position = 0
        for tag in self._tag.finditer(text):
            self._pass_on(text[position : tag.start()])
            self._read(tag.group())
            position = tag.end()
        tail = range(max(position, len(text) - self._longest), len(text))
        begun = _BEGUN_TAG.search(text, position)
        end = next((start for start in tail if text[start:].lower() in self._beginnings), len(text))
        end = min(end, begun.start()) if begun else end
        self._held = text[end:]
        self._pass_on(text[position:end])
        return self._drain()

    def finish(self) -> list[Piece]:
        """Return the pieces that are still withheld; call it once, at the end of the stream."""
        self._pass_on(self._held)
        self._release()
        return self._drain()

    def _pass_on(self, words: str) -> None:
        """Add words without tags to the open thought or to the text; drop those of a call."""
        if self._open and self._open.kind == "thought":
            self._think(words)
        elif not self._open:
            self._say(words)

    def _read(self, tag: str) -> None:
        """Open or close a block, or treat the tag as text."""
        known = "closer" if tag.startswith("</") else "opener", _THOUGHT
        role, block = self._tags.get(tag.lower(), known)
        before = self._line[-1:] if self._line.strip() else ""
        if self._open:
            if block is self._open and role != "opener":
                self._open, self._has_block = None, True
            else:
                self._pass_on(tag)
        elif (
            self._fence
            or before == "`"
            or (before and before in _BEFORE_MENTION and not block.is_special)
        ):
            # The sentence only mentions the tag.
            self._say(tag)
        elif role == "opener":
            self._release()
            self._open, self._is_thinking = block, False
        elif role == "closer" and self._undecided is not None:
            thought, self._undecided = "".join(self._undecided).strip(), None
            self.began_inside = bool(thought)
            self._think(thought)
            self._line, self._has_block = "", True
        elif role == "closer" and not block.is_special and (self._has_words or not self._has_block):
            self._say(tag)

    def _say(self, words: str) -> None:
        """Add words to the text, or withhold them while it is undecided whether the text begins
        with a thought."""
        *ended, last = words.split("\n")
        for line in ended:
            self._fence = fence_after(self._fence, self._line + line)
            self._line = ""
        self._line += last
        if self._undecided is None:
            self._emit_text(words)
        else:
            self._undecided.append(words)

    def _release(self) -> None:
        """Add the words withheld from the beginning to the text."""
        undecided, self._undecided = self._undecided, None
        self._emit_text("".join(undecided or ()))

    def _emit_text(self, words: str) -> None:
        # Drop the blank lines that models leave between a thought and the answer.
        if self._has_block and not self._has_words:
            words = words.lstrip()
        self._has_words = self._has_words or bool(words.strip())
        self._pieces.append(Piece("text", words))

    def _think(self, words: str) -> None:
        if not self._is_thinking:
            words = words.lstrip()
        if not words:
            return
        separator = "\n\n" if self._has_thought and not self._is_thinking else ""
        self._is_thinking = self._has_thought = True
        self._pieces.append(Piece("thought", separator + words))

    def _drain(self) -> list[Piece]:
        """Return and forget the pieces so far, with adjacent ones of the same kind joined."""
        pieces, self._pieces = self._pieces, []
        groups = groupby((piece for piece in pieces if piece.words), key=lambda piece: piece.kind)
        return [Piece(kind, "".join(piece.words for piece in group)) for kind, group in groups]


class Split(NamedTuple):
    """A text, split into answer and thought."""

    text: str
    thought: str
    began_inside: bool
    """Whether it began with a thought that has only a closing tag."""


def split_thoughts(text: str) -> Split:
    """Separate the thoughts in a complete text from the answer; it may begin with a thought that
    has no opening tag."""
    reader = ThoughtFilter(begins_inside=True)
    pieces = [*reader.feed(text), *reader.finish()]
    words, thought = (
        "".join(piece.words for piece in pieces if piece.kind == kind)
        for kind in ("text", "thought")
    )
    return Split(words, thought, reader.began_inside)


def read_reply(message: AIMessage, tools: Sequence[dict[str, Any]]) -> AIMessage:
    """Return the message with tool calls parsed, and with calls and thoughts removed from its text.

    `tools` are the offered schemas; without any, the message is returned unchanged. The text is
    searched for calls unless the API returned some. A call that cannot be parsed, or was cut off at
    the output limit, becomes an invalid call; if it is written in an unknown form, its error says
    how to write it.
    """
    offer = Offer(tools)
    if not offer.tools:
        return message
    if message.tool_calls or message.invalid_tool_calls:
        calls, broken = list[ToolCall](), list[InvalidToolCall]()
        for given in message.tool_calls:
            tool, name = offer.find(given["name"]), given["name"]
            calls.append(
                tool_call(
                    name=tool.name if tool else name,
                    args=coerce(given["args"], tool),
                    id=given["id"],
                )
            )
        for unread in message.invalid_tool_calls:
            tool = offer.find(unread["name"] or "")
            arguments = (
                object_in(unread["args"] or "") if tool and not was_cut_off(message) else None
            )
            if tool and arguments is not None:
                calls.append(
                    tool_call(name=tool.name, args=coerce(arguments, tool), id=unread["id"])
                )
            else:
                broken.append(unread)
        words = split_thoughts(message.text).text
        return message.model_copy(
            update={"content": words, "tool_calls": calls, "invalid_tool_calls": broken}
        )
    return _read_written(message, offer)


def _read_written(message: AIMessage, offer: Offer) -> AIMessage:
    """Return the message with the calls in its text parsed."""
    # Tags within the arguments of a call are text.
    text = (
        message.text if _BEGINS_AS_CALL.match(message.text) else split_thoughts(message.text).text
    )
    spans = find_calls(text, offer)
    is_cut = was_cut_off(message)
    calls = [call for span in spans for call in span.calls]
    if not calls and is_cut and _BEGINS_AS_CALL.match(text):
        return message.model_copy(
            update={"content": "", "invalid_tool_calls": [_invalid("", text, 1, _CUT)]}
        )
    valid, broken = list[ToolCall](), list[InvalidToolCall]()
    for number, call in enumerate(calls, 1):
        if is_cut or call.arguments is None:
            fault = _CUT if is_cut else _NOT_AN_OBJECT
            if call.is_form_unknown and not is_cut:
                meant = offer.find(call.name)
                fault = f"{UNREAD_FORM}\n{how_to_tag([meant] if meant else offer.tools.values())}"
            broken.append(_invalid(call.name, call.raw, number, fault))
        else:
            valid.append(
                tool_call(name=call.name, args=clean_nested(call.arguments), id=f"call-{number}")
            )
    words = answer_in(text)
    if words is not None:
        words = words.strip()
    elif not spans:
        words = split_thoughts(text).text
    else:
        starts = [*(span.start for span in spans), len(text)]
        ends = [0, *(span.end for span in spans)]
        beside = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
        words = split_thoughts(_WRAPPING.sub("", beside)).text.strip()
        # Brackets and punctuation around the calls are no text.
        words = words if re.search(r"\w", words) else ""
    return message.model_copy(
        update={"content": words, "tool_calls": valid, "invalid_tool_calls": broken}
    )


def _invalid(name: str, raw: str, number: int, fault: str) -> InvalidToolCall:
    return invalid_tool_call(name=name or None, args=raw, id=f"call-{number}", error=fault)
