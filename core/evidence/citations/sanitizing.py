"""Makes a report's Markdown inert: no HTML, images or link definitions, and no links except
citations.

The text is parsed as CommonMark, and only the parts that the parser finds active are rewritten.
Removed markup may expose other markup, so this is repeated until a parse finds nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from functools import cache
from itertools import accumulate
from types import MappingProxyType
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, autolink, backtick, html_inline, image, link
from markdown_it.token import Token

from .citing import Edit, with_edits

EMAIL_SIGN = r"(?<=[\w.+;-])(?:\\?@|&(?:#0*64|#x0*40|commat);)(?=[\w&\\][^\s@.&]*+[.&])"
"""Pattern of the @ of an e-mail address, which GitHub turns into a link unless it is in code."""
_DEEPEST = 100
"""Maximum depth of nested blocks."""
_MOST_ROUNDS = 40
"""Maximum number of times that a text is rewritten; then all of it becomes code."""
_STEPS_PER_CHARACTER = 10
"""Maximum number of steps per character of a text in which its brackets are matched; each unclosed
bracket takes as many as tokens follow it, and ordinary text takes less than one."""
_NO_LINKS: Mapping[str, str] = MappingProxyType({})
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SUSPECT = re.compile(r"[<@&]|\][(\[:]|!\[|//|www\.|\\href", re.IGNORECASE)
"""A text without any of these is inert and need not be parsed."""
_TAG = re.compile(r"<(?=[a-z/!?])", re.IGNORECASE)
# MathJax makes links of "\href" in formulas, where it cannot be escaped.
_BARE = re.compile(
    rf"(?P<sign>{EMAIL_SIGN})|(?P<command>(?<!\\)\\+href\b)"
    # Only GitHub's parser makes links around citations, and links with unbalanced brackets.
    r"|(?<!\\):(?=//)|(?<![:\w/\\])/(?=/[\w\[])|(?<=www)\."
    r"|(?<=\])\((?=\s*+(?:<|[^\s<)\"'(]*+\s*+[)\"'(]))|^[ \t]*+(?P<definition>\[)",
    re.IGNORECASE | re.MULTILINE,
)
"""Links and footnotes of Markdown dialects; escaping the last character turns most of them into
text. A bracket at the start of a line is one only if it begins a definition (`_Definitions`)."""
_NOTE = re.compile(r"\^[^\]\n]+\]:")
_DEFINED = re.compile(r"\]:\s*+[^\s()]*+[()]")
"""The end of a label, with an address that has brackets."""
_Rule = Callable[[StateInline, bool], bool]
_RULES: Mapping[str, _Rule] = {
    "autolink": autolink,
    "backticks": backtick,
    "html_inline": html_inline,
    "image": image,
    "link": link,
}


class Sanitized(NamedTuple):
    """A text without active markup."""

    text: str
    positions: tuple[int, ...]
    """The given offsets of the original, as offsets in this text."""


class _Unreadable(Exception):
    """The text is nested too deeply, its brackets take too long to parse, or what the parser found
    cannot be located in it."""


def sanitized(markdown: str, links: Mapping[str, str] = _NO_LINKS) -> str:
    """Return a Markdown text with all active markup removed or escaped, except links of `[n]` to
    `links["n"]`."""
    return sanitized_at(markdown, (), links).text


def sanitized_at(
    markdown: str, positions: Sequence[int], links: Mapping[str, str] = _NO_LINKS
) -> Sanitized:
    """Like `sanitized`, but also return offsets of the original (`positions`) in the result."""
    controls = [Edit(found.start(), found.end(), "") for found in _CONTROL.finditer(markdown)]
    result = _changed(markdown, positions, controls)
    if not _SUSPECT.search(result.text):
        return result
    for _ in range(_MOST_ROUNDS):
        try:
            edits = _first_edits(result.text, links)
        except (RecursionError, _Unreadable):
            break
        if not edits:
            return result
        result = _changed(result.text, result.positions, edits)
    # What cannot be made inert becomes code, which always is.
    fence = "`" * max(3, 1 + _longest_run(result.text))
    shift = len(f"{fence}\n")
    moved = tuple(position + shift for position in result.positions)
    return Sanitized(f"{fence}\n{result.text}\n{fence}", moved)


def commonmark(*extensions: str) -> MarkdownIt:
    """Return a CommonMark parser with these extensions that accepts any address as a link
    target."""
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST, "inline_definitions": True}).enable(
        [*extensions]
    )
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005 - its own way
    return parser


@cache
def _parsers() -> tuple[MarkdownIt, ...]:
    """Return parsers of CommonMark with and without tables, since tables change which parts of a
    line are code."""
    parsers = (commonmark("table", "strikethrough"), commonmark())
    for parser in parsers:
        _limit_steps(parser)
        for name, rule in _RULES.items():
            parser.inline.ruler.at(name, _with_span(rule))
    return parsers


def _limit_steps(parser: MarkdownIt) -> None:
    """Have a parser raise `_Unreadable` if a text takes too many steps (`_STEPS_PER_CHARACTER`)."""
    parse = parser.inline.parse
    skip = parser.inline.skipToken

    def limited_parse(
        src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]
    ) -> list[Token]:
        env["steps"] = env.get("steps", 0) + _STEPS_PER_CHARACTER * len(src)
        return parse(src, md, env, tokens)

    def limited_skip(state: StateInline) -> None:
        state.env["steps"] -= 1
        if state.env["steps"] < 0:
            raise _Unreadable
        skip(state)

    parser.inline.parse = limited_parse  # type: ignore[method-assign]
    parser.inline.skipToken = limited_skip  # type: ignore[method-assign]


def _with_span(rule: _Rule) -> _Rule:
    """Wrap a rule of the parser so that its tokens record their span.

    These are three offsets: start, end of the link text, end.
    """

    def with_span(state: StateInline, silent: bool) -> bool:
        start = state.pos
        count = len(state.tokens)
        if not rule(state, silent):
            return False
        made = next((token for token in state.tokens[count:] if token.type != "text"), None)
        if made:
            words_end = start
            if rule is image:
                words_end = state.md.helpers.parseLinkLabel(state, start + 1, False)
            elif rule is link:
                words_end = state.md.helpers.parseLinkLabel(state, start, True)
            made.meta["span"] = (start, words_end, state.pos)
        return True

    return with_span


def _changed(text: str, positions: Sequence[int], edits: Sequence[Edit]) -> Sanitized:
    """Return a text with these edits, and the new offsets of `positions`."""

    ordered = sorted(edits)
    starts = [edit.start for edit in ordered]
    growths = (len(edit.words) - (edit.end - edit.start) for edit in ordered)
    shifts = [0, *accumulate(growths)]

    def moved(position: int) -> int:
        before = bisect_left(starts, position)
        new = position + shifts[before]
        if before:
            # Only the last edit that begins before the position may end behind it.
            new += max(0, ordered[before - 1].end - position)
        return new

    return Sanitized(with_edits(text, ordered), tuple(map(moved, positions)))


def _first_edits(text: str, links: Mapping[str, str]) -> list[Edit]:
    """Return the edits for the first parser that finds active markup in a text.

    The list is empty if none does.
    """
    for parser in _parsers():
        edits = _edits(text, parser, links)
        if edits:
            return edits
    return []


def _edits(text: str, parser: MarkdownIt, links: Mapping[str, str]) -> list[Edit]:
    """Return the edits that turn the active markup that a parser finds in a text into plain
    text."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    cursors = dict[int, int]()
    edits = list[Edit]()
    before = ""
    known = {number: {"href": target, "title": ""} for number, target in links.items()}
    for token in parser.parse(text, {"references": known}):
        if token.level >= _DEEPEST - 1:
            raise _Unreadable
        first, last = token.map or (0, 0)
        if token.type == "html_block":
            for tag in _TAG.finditer(text, starts[first], starts[last] - 1):
                edits.append(_escape(tag.start()))
        elif token.type == "definition":
            edits.append(_escape(text.index("[", starts[first])))
        elif token.type == "inline":
            inner = list(_inline_edits(token, links))
            is_cell = before in ("th_open", "td_open")
            if inner or is_cell:
                positions = _positions(
                    token.content, lines, first, starts, cursors, is_cell=is_cell
                )
                for edit in inner:
                    start = positions[edit.start]
                    end = start
                    if edit.start < edit.end:
                        end = positions[edit.end - 1] + 1
                    edits.append(Edit(start, end, edit.words))
        before = token.type
    return edits


def _escape(position: int) -> Edit:
    """Return the edit that puts a backslash before this offset."""
    return Edit(position, position, "\\")


def _inline_edits(block: Token, links: Mapping[str, str]) -> Iterator[Edit]:
    """Yield the edits for the text of one block.

    Offsets refer to that text, without the markup of the block.
    """
    left = list(block.content)
    for token in block.children or ():
        if "span" not in token.meta:
            continue
        start, words_end, end = token.meta["span"]
        if token.type == "html_inline" or token.markup == "autolink":
            yield _escape(start)
        elif token.type in ("image", "link_open"):
            opening = "![" if token.type == "image" else "["
            text = "".join(left[start:end])
            is_citation = False
            if token.type == "link_open" and text[:1] + text[-1:] == "[]":
                is_citation = links.get(text[1:-1]) == token.attrs["href"]
            if not is_citation:
                yield Edit(start, start + len(opening), "")
                yield Edit(words_end, end, "")
                start = words_end
        left[start:end] = " " * (end - start)
    bare = "".join(left)
    ticks = "`" * (1 + _longest_run(bare))
    definitions = _Definitions(bare)
    for found in _BARE.finditer(bare):
        if found["sign"] or found["command"]:
            sign = found["command"] or "@"
            yield Edit(found.start(), found.end(), f"{ticks}{sign}{ticks}")
        elif not found["definition"] or definitions.has(found.end()):
            yield _escape(found.end() - 1)


class _Definitions:
    """The definitions of footnotes and links in a text; must be asked for in text order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._label_end = 0
        """Offset of the next closing bracket; -1 if there is none."""
        self._has_address = False
        """Whether an address with brackets follows it, of which only GitHub's parser makes a
        link."""

    def has(self, start: int) -> bool:
        """Whether a definition begins with the opening bracket before an offset."""
        if _NOTE.match(self._text, start):
            return True
        if 0 <= self._label_end < start:
            self._label_end = self._text.find("]", start)
            self._has_address = _DEFINED.match(self._text, self._label_end) is not None
        return self._has_address and self._label_end > start


def _positions(
    content: str,
    lines: Sequence[str],
    first: int,
    starts: Sequence[int],
    cursors: dict[int, int],
    *,
    is_cell: bool,
) -> list[int]:
    """Return the offset of each character of a block's text; `is_cell`: the block is a table cell.

    `cursors` says how far each line was searched.
    """
    positions = list[int]()
    for number, words in enumerate(content.split("\n"), first):
        line = lines[number]
        bare = words.strip()
        # In a table cell, the backslash of an escaped bar is not part of the text.
        written = bare.replace("|", "\\|") if is_cell else bare
        column = line.find(written, cursors.get(number, 0))
        if column < 0:
            raise _Unreadable
        cursors[number] = column + len(written)
        margin = len(words) - len(words.lstrip())
        positions += [starts[number] + column] * margin
        for character in bare:
            if line[column] != character:
                column += 1
            positions.append(starts[number] + column)
            column += 1
        rest = len(words) - margin - len(bare) + 1
        positions += [starts[number] + column] * rest
    return positions


def _longest_run(text: str) -> int:
    """Return the length of the longest sequence of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
