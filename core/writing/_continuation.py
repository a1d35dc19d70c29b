"""Joins a truncated text of a model with its continuation, without what the continuation
repeats."""

from __future__ import annotations

import re

_HELD = 400
"""Maximum length of a repetition, in characters; so much of a continuation is buffered to find
it."""
_LEAST_WORDS = 3
"""Minimum number of different words that count as a repetition; fewer may be a turn of phrase."""
_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Chinese and Japanese characters, which have no spaces between words."""
_WORD = re.compile(rf"[{_DENSE}]|[^\W_{_DENSE}]+")
_TOKEN = re.compile(rf"[{_DENSE}]|[^\W{_DENSE}]+|[^\w\s]")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?:[-*+|]|\d{1,3}[.)])\s")
_ENDED = re.compile(rf"[^\W_{_DENSE}]$|[.…!?,;:)\]%]$")
_SPACED_CHARACTER = re.compile(rf"[^\W_{_DENSE}]")
_OPEN_NUMBER = re.compile(r"\d[.,]?$")


class Continuation:
    """Removes what a streamed continuation repeats of the text before it.

    The result does not depend on the chunk boundaries.
    """

    def __init__(self, before: str) -> None:
        """`before`: the truncated text."""
        self._before = before
        # The first chunks, until it is known what they repeat; then None.
        self._held: str | None = "" if before.strip() else None
        self._is_first = not before

    def feed(self, words: str) -> str:
        """Process the next chunk.

        Return the text to append to the truncated one, as far as it is certain.
        """
        if self._is_first:
            words = words.lstrip()
            self._is_first = not words
        if self._held is None:
            return words
        self._held += words
        return self.finish() if len(self._held) >= _HELD else ""

    def finish(self) -> str:
        """Return the rest of the text to append; call at the end."""
        held = self._held
        self._held = None
        if not held:
            return ""
        before = self._before
        repeated_end = _overlap(before, held[:_HELD])
        rest = held[repeated_end or 0 :]
        body = rest.lstrip()
        gap = rest[: len(rest) - len(body)]
        # White space at the end of the text is not repeated.
        trailing = before[len(before.rstrip()) :]
        if trailing and gap.startswith(trailing):
            return rest.removeprefix(trailing)
        if trailing:
            return body
        if gap or repeated_end is not None:
            return rest
        if _HEADING.match(body):
            return f"\n\n{body}"
        if _ITEM.match(body) and before[-1] in ".!?])|":
            return f"\n{body}"
        is_number = _OPEN_NUMBER.search(before) and body[:1].isdigit()
        if not is_number and _ENDED.search(before) and _SPACED_CHARACTER.match(body):
            return f" {body}"
        return body


def join_continuation(before: str, after: str) -> str:
    """Return a truncated text with its continuation, without what the continuation repeats."""
    continuation = Continuation(before)
    return before + continuation.feed(after) + continuation.finish()


def _overlap(before: str, after: str) -> int | None:
    """Return the offset in `after` where its repetition of the end of `before` stops.

    None if it repeats nothing.
    """
    start = len(after) - len(after.lstrip(" \t\n.…"))
    first_character = after[start : start + 1]
    for token in _TOKEN.finditer(before, max(0, len(before) - _HELD)):
        # Compiling the pattern of a tail takes far longer than comparing its first character.
        if not re.match(re.escape(token[0][0]), first_character, re.IGNORECASE):
            continue
        tail = before[token.start() :]
        pattern = r"\s+".join(map(re.escape, tail.split()))
        repetition = re.compile(pattern, re.IGNORECASE).match(after, start)
        if not repetition:
            continue
        words = _WORD.findall(tail.casefold())
        goes_on = after[repetition.end() :][:1].isalnum()
        if goes_on and len(words) == 1 and tail.isalnum():
            # A word was cut in two.
            is_overlap = len(tail) > 1 and not after[:1].isspace()
        else:
            is_at_start = before[: token.start()][-1:] in ("", "\n")
            is_overlap = len({*words}) >= _LEAST_WORDS or tail[0] == "[" or is_at_start
        if is_overlap and not (goes_on and tail[-1].isspace()):
            return repetition.end()
    return None
