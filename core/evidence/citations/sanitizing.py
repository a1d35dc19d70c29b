"""Leaves nothing in a report's Markdown that acts: no HTML, no image, no link but citations, no definition of a link.

The text is parsed as CommonMark, and only what the parser finds active is written anew; all else stays byte for byte.
Where markup goes, other markup may come to light, so this is done until a parse finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, autolink, backtick, html_inline, image, link
from markdown_it.token import Token

from .citing import Edit, with_edits

EMAIL_SIGN = r"(?<=[\w.+;-])(?:\\?@|&(?:#0*64|#x0*40|commat);)(?=[\w&\\][^\s@]*[.&])"
"""The sign in an e-mail address, which GitHub links unless it stands in code."""
_DEEPEST = 100
"""Levels of nested blocks that are read."""
_MOST_ROUNDS = 40
_NO_LINKS: Mapping[str, str] = MappingProxyType({})
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SUSPECT = re.compile(r"[<@&]|\][(\[:]|!\[|//|www\.|\\href", re.IGNORECASE)
"""Without any of these nothing acts, and nothing has to be parsed."""
_TAG = re.compile(r"<(?=[a-z/!?])", re.IGNORECASE)
# MathJax makes links in formulas, and knows no escapes either.
_BARE = re.compile(
    rf"(?P<sign>{EMAIL_SIGN})|(?P<command>(?<!\\)\\+href\b)"
    # GitHub's parser makes a link around a citation, and one whose brackets do not match, which the others do not.
    r"|(?<!\\):(?=//)|(?<![:\w/\\])/(?=/[\w\[])|(?<=www)\."
    r"|(?<=\])\((?=\s*(?:<|[^\s<]*\s*[)\"'(]))|^[ \t]*\[(?=\^[^\]\n]+\]:|[^\]]+\]:\s*\S*[()])",
    re.IGNORECASE | re.MULTILINE,
)
"""What dialects of Markdown make a link or a footnote of: most is taken for text if the last character is escaped."""
_Rule = Callable[[StateInline, bool], bool]
_RULES: Mapping[str, _Rule] = {
    "autolink": autolink,
    "backticks": backtick,
    "html_inline": html_inline,
    "image": image,
    "link": link,
}


class Sanitized(NamedTuple):
    """A text in which nothing acts."""

    text: str
    places: tuple[int, ...]
    """Where the places of the original that were asked for are in it."""


class _Unreadable(Exception):
    """The text is nested too deeply, or is not what was parsed."""


def sanitized(markdown: str, links: Mapping[str, str] = _NO_LINKS) -> str:
    """Return the text without anything that acts; `[n]` may be a link, to what `links` has for the number."""
    return sanitized_at(markdown, (), links).text


def sanitized_at(markdown: str, places: Sequence[int], links: Mapping[str, str] = _NO_LINKS) -> Sanitized:
    """Do as `sanitized`, and return also where places of the text have moved to."""
    result = _changed(markdown, places, [Edit(*found.span(), "") for found in _CONTROL.finditer(markdown)])
    if not _SUSPECT.search(result.text):
        return result
    for _ in range(_MOST_ROUNDS):
        try:
            edits = next(filter(None, (_edits(result.text, parser, links) for parser in _parsers())), [])
        except (RecursionError, _Unreadable):
            break
        if not edits:
            return result
        result = _changed(*result, edits)
    # In code nothing acts, whatever it is.
    fence = "`" * max(3, 1 + _longest_run(result.text))
    return Sanitized(f"{fence}\n{result.text}\n{fence}", tuple(place + len(fence) + 1 for place in result.places))


def commonmark(*extensions: str) -> MarkdownIt:
    """Return a parser of CommonMark with these extensions, for which no address is too bad for a link."""
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST, "inline_definitions": True}).enable([*extensions])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005 - its own way
    return parser


@cache
def _parsers() -> tuple[MarkdownIt, ...]:
    # Where tables are known, other parts of a line are code than where they are not.
    parsers = commonmark("table", "strikethrough"), commonmark()
    for parser in parsers:
        for name, rule in _RULES.items():
            parser.inline.ruler.at(name, _with_span(rule))
    return parsers


def _with_span(rule: _Rule) -> _Rule:
    """Return the rule with tokens that know where they begin and end, and where the words of a link end."""

    def with_span(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if made := next((token for token in state.tokens[count:] if token.type != "text"), None):
            has_words, is_image = rule in (image, link), rule is image
            words = state.md.helpers.parseLinkLabel(state, start + is_image, not is_image) if has_words else start
            made.meta["span"] = (start, words, state.pos)
        return True

    return with_span


def _changed(text: str, places: Sequence[int], edits: Sequence[Edit]) -> Sanitized:
    def moved(place: int) -> int:
        return place + sum(len(edit.words) + edit.start - min(edit.end, place) for edit in edits if edit.start < place)

    return Sanitized(with_edits(text, edits), tuple(map(moved, places)))


def _edits(text: str, parser: MarkdownIt, links: Mapping[str, str]) -> list[Edit]:
    """Return the edits that turn all that a parser finds active into plain text, unless something hides it."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    cursors, edits, before = dict[int, int](), list[Edit](), ""
    known = {number: {"href": target, "title": ""} for number, target in links.items()}
    for token in parser.parse(text, {"references": known}):
        if token.level >= _DEEPEST - 1:
            raise _Unreadable
        first, last = token.map or (0, 0)
        if token.type == "html_block":
            edits += (_escape(tag.start()) for tag in _TAG.finditer(text, starts[first], starts[last] - 1))
        elif token.type == "definition":
            edits.append(_escape(text.index("[", starts[first])))
        elif token.type == "inline":
            inner = list(_inline_edits(token, links))
            if inner or before in ("th_open", "td_open"):
                places = _places(token.content, lines, first, starts, cursors)
                edits += (
                    Edit(places[start], places[end - 1] + 1 if start < end else places[start], words)
                    for start, end, words in inner
                )
        before = token.type
    return edits


def _escape(place: int) -> Edit:
    return Edit(place, place, "\\")


def _inline_edits(block: Token, links: Mapping[str, str]) -> Iterator[Edit]:
    """Return the same edits for the text of one block, without the markup of the block."""
    left = block.content
    for token in block.children or ():
        if "span" not in token.meta:
            continue
        start, words, end = token.meta["span"]
        if token.type == "html_inline" or token.markup == "autolink":
            yield _escape(start)
        elif token.type in ("image", "link_open") and not _is_citation(left[start:end], token, links):
            yield Edit(start, start + (2 if token.type == "image" else 1), "")
            yield Edit(words, end, "")
            start = words
        left = f"{left[:start]}{' ' * (end - start)}{left[end:]}"
    ticks = "`" * (1 + _longest_run(left))
    for found in _BARE.finditer(left):
        if found["sign"] or found["command"]:
            yield Edit(*found.span(), f"{ticks}{found['command'] or '@'}{ticks}")
        else:
            yield _escape(found.end() - 1)


def _is_citation(text: str, token: Token, links: Mapping[str, str]) -> bool:
    return token.type == "link_open" and text[:1] + text[-1:] == "[]" and links.get(text[1:-1]) == token.attrs["href"]


def _places(
    content: str, lines: Sequence[str], first: int, starts: Sequence[int], cursors: dict[int, int]
) -> list[int]:
    """Return where each character of a block's text stands; `cursors` hold how far each line has been read."""
    places = list[int]()
    for number, words in enumerate(content.split("\n"), first):
        line, bare = lines[number], words.strip()
        # In the cell of a table, a bar has a backslash that does not belong to the text.
        found = re.compile(re.escape(bare).replace(r"\|", r"\\?\|")).search(line, cursors.get(number, 0))
        if not found:
            raise _Unreadable
        cursors[number], column = found.end(), found.start()
        margin = len(words) - len(words.lstrip())
        places += [starts[number] + column] * margin
        for character in bare:
            column += line[column] != character
            places.append(starts[number] + column)
            column += 1
        places += [starts[number] + column] * (len(words) - margin - len(bare) + 1)
    return places


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
