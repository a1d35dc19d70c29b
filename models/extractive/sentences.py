"""The sentences of a text that can be quoted as they stand, and what else is needed to understand them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from deep_research.evidence.sentences import ends_sentence
from deep_research.models.extractive.blocks import Block, blocks
from deep_research.models.extractive.pronouns import points_back

LONGEST = 600
LONGEST_RECORD = 300
"""Characters up to which the fields of a record are quoted together."""
FEWEST_WORDS = 3
"""Words of a sentence, or of an item of a list that is understood without what leads it in."""
SALUTATION = re.compile(r"\w,$")
SALUTATION_WORDS = 6
CLOSERS = r"[\"'”’»)\]」』]*"
BOUNDARY = re.compile(rf"[.!?]{CLOSERS}(?=\s|\[\^?\d)|[。！？]{CLOSERS}")
REFERENCE = re.compile(r"\[(\^?\d[\d,\s–-]*)\]")
REFERENCES = re.compile(r"^(?:\s*\[\^?\d+\])+")
COMPLETE = re.compile(rf"[.!?。！？]{CLOSERS}$")
DEBRIS = re.compile(r"\]\(|\||```|\{\{|\}\}|</?[a-zA-Z]|https?://|�|\*\*|__")
OPENING = re.compile(r"^[\"'“„«(¿¡「『]*(?:[^\W_a-zß-öø-ÿ])")


class Quotable(NamedTuple):
    """A sentence, an item of a list, or the fields of a record."""

    text: str
    about: str = ""
    """The heading above it, and of an item what leads in its list."""
    antecedent: str = ""
    """Of a sentence that begins with a pronoun: the one in its paragraph that says who or what is meant."""


def sentences(text: str) -> list[str]:
    """What can be quoted, in order, white space as single spaces; headings, tables and cut-off ends are left out."""
    return [one.text for one in quotables(text)]


def quotables(text: str) -> list[Quotable]:
    """The same, each once, with what is needed to understand it."""
    found: dict[str, Quotable] = {}
    before = ""
    for block in blocks(text):
        # Behind a salutation many languages go on in lower case.
        is_letter = SALUTATION.search(before) is not None and len(before.split()) <= SALUTATION_WORDS
        for one in _of_record(block) if block.is_record else _of_prose(block, is_letter=is_letter):
            found.setdefault(one.text, one)
        before = block.text
    return list(found.values())


def linked(texts: Iterable[str]) -> tuple[Quotable, ...]:
    """Sentences that were quoted one behind the other, each with the one that it points back to."""
    found, antecedent = list[Quotable](), ""
    for text in texts:
        is_back = points_back(text)
        found.append(Quotable(text, antecedent=antecedent if is_back else ""))
        antecedent = antecedent if is_back else text
    return tuple(found)


def _of_record(block: Block) -> Iterator[Quotable]:
    whole = _plain(block.text)
    for text in [whole] if len(whole) <= LONGEST_RECORD else map(_plain, block.lines):
        if len(text) <= LONGEST and not DEBRIS.search(text) and not text.endswith(("…", "...")):
            yield Quotable(_headed(text, block.heading), block.heading)


def _headed(text: str, heading: str) -> str:
    """A record behind the heading above it, which tells whose it is, if that can be quoted."""
    whole = f"{_plain(heading).rstrip(':：')}: {text}"
    return whole if heading and len(whole) <= LONGEST and not DEBRIS.search(heading) else text


def _of_prose(block: Block, *, is_letter: bool) -> Iterator[Quotable]:
    antecedent, about = "", f"{block.heading}\n{block.lead}".strip()
    for place, piece in enumerate(_split(block.text)):
        may_open = is_letter and not place
        if (OPENING.match(piece) or may_open) and _is_quotable(piece, is_item=block.kind != "paragraph"):
            is_back = points_back(piece)
            yield Quotable(piece, about, antecedent if is_back else "")
            antecedent = antecedent if is_back else piece
        elif block.lead and piece == _plain(block.text):
            yield from _led(piece, block.lead, about)


def _led(item: str, paragraph: str, about: str) -> Iterator[Quotable]:
    """A whole item that is too little to be understood alone, behind the sentence that leads in its list."""
    *before, lead = _split(paragraph)
    antecedent = next((one for one in reversed(before) if not points_back(one)), "") if points_back(lead) else ""
    if len(whole := f"{lead} {item}") <= LONGEST and not DEBRIS.search(whole):
        yield Quotable(whole, about, antecedent)


def _split(block: str) -> list[str]:
    ends = [match.end() for match in BOUNDARY.finditer(block) if not _is_inside(block, match)]
    pieces = [block[start:end] for start, end in zip([0, *ends], [*ends, len(block)], strict=True)]
    return [_plain(REFERENCES.sub("", piece)) for piece in pieces]


def _plain(text: str) -> str:
    # A number in brackets would be read as a citation of ours.
    return REFERENCE.sub(r"(\1)", text).strip()


def _is_inside(block: str, match: re.Match[str]) -> bool:
    following = REFERENCES.sub("", block[match.end() :]).lstrip()
    if match.group() != "." or not following or following.startswith("…"):
        return False
    return not ends_sentence(block[: match.start()], following)


def _is_quotable(piece: str, *, is_item: bool) -> bool:
    if len(piece) > LONGEST or DEBRIS.search(piece):
        return False
    words = len(piece.split())
    if COMPLETE.search(piece):
        return not piece.endswith("...") and (words >= FEWEST_WORDS or not piece.isascii())
    return is_item and words >= FEWEST_WORDS and not piece.endswith(("…", ":"))
