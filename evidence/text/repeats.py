"""Takes out of a section what the text before it says already."""

from __future__ import annotations

import re

from ..citations.protected import fence_after
from .likeness import Meaning, is_same, meaning
from .sentences import Sentence, sentences_of

_COMPLETE = re.compile(r"[.!?…。！？:][\"'”’»)\]」』*_]*$")
_EMPTY = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)]|>)\s*)*")


class Unrepeated:
    """Passes a streamed section on line by line, without sentences that say the same by the same sources as one before.

    A line is held until it ends. Sentences without a citation, headings and code stay.
    """

    def __init__(self, before: str) -> None:
        """Take the text that comes before."""
        self._said: dict[tuple[int, ...], list[Meaning]] = {}
        self._fence, self._line = "", ""
        for sentence in sentences_of(before):
            self._note(sentence)

    def feed(self, words: str) -> str:
        """Take the next words; returns the lines that have ended."""
        *lines, self._line = (self._line + words).split("\n")
        return "".join(self._kept(line, "\n") for line in lines)

    def finish(self, *, was_cut: bool) -> str:
        """No more words come; returns the rest, without its last sentence where that `was_cut` off."""
        line = self._line
        last = sentences_of(line)[-1:] if was_cut and not self._fence else []
        if last and not _COMPLETE.search(last[0].text):
            line = line[: line.rindex(last[0].raw)].rstrip()
        return self._kept(line, "")

    def _kept(self, line: str, end: str) -> str:
        after = fence_after(self._fence, line)
        is_code = bool(self._fence or after)
        self._fence = after
        repeated = [] if is_code else [s for s in sentences_of(line) if not self._note(s)]
        if not repeated:
            return line + end
        for sentence in repeated:
            line = line.replace(sentence.raw, "", 1)
        rest = re.sub(r"(?<=\S) {2,}", " ", line).rstrip()
        return "" if _EMPTY.fullmatch(rest) else rest + end

    def _note(self, sentence: Sentence) -> bool:
        """Remember what the sentence says; false if it was said before."""
        if not sentence.numbers or not sentence.text:
            return True
        said, new = self._said.setdefault(tuple(sorted(sentence.numbers)), []), meaning(sentence.text)
        is_new = not any(is_same(new, old) for old in said)
        said.append(new)
        return is_new
