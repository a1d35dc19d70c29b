"""The sentences of a text that can be quoted as they stand, and what else is needed to understand them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import NamedTuple

from ...evidence.mixing import distinct
from ...evidence.sentences import ends_sentence
from .blocks import Block, blocks
from .pronouns import points_back

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
    """Of a sentence that begins with a pronoun: the one before it that says who or what is meant."""


def sentences(text: str) -> list[str]:
    """What can be quoted, in order, white space as single spaces; headings, tables and cut-off ends are left out."""
    return [one.text for one in quotables(text)]


def quotables(text: str) -> list[Quotable]:
    """The same, each once, with what is needed to understand it."""
    return each_once(_quotables(text))


def each_once(found: Iterable[Quotable]) -> list[Quotable]:
    """The quotables, those of the same words and meaning once; what is meant may be cut off in one of two excerpts."""
    first = distinct(found, lambda one: (one.text, one.antecedent))
    told = {one.text for one in first if one.antecedent}
    return [one for one in first if one.antecedent or one.text not in told]


def _quotables(text: str) -> Iterator[Quotable]:
    before, antecedent = Block(()), ""
    for block in blocks(text):
        # Behind a salutation many languages go on in lower case.
        is_letter = SALUTATION.search(before.text) is not None and len(before.text.split()) <= SALUTATION_WORDS
        if not block.kind == before.kind == "paragraph" or block.heading != before.heading:
            antecedent = ""
        for one in _of_record(block) if block.is_record else _of_prose(block, is_letter=is_letter):
            if one:
                yield one._replace(antecedent=one.antecedent or (antecedent if points_back(one.text) else ""))
            antecedent = next_antecedent(antecedent, one.text) if one else ""
        before = block


def next_antecedent(antecedent: str, text: str) -> str:
    """What the sentence behind this one means if it begins with a pronoun; `antecedent` is what this one would mean."""
    return antecedent if points_back(text) else text


def _of_record(block: Block) -> Iterator[Quotable]:
    whole = _plain(block.text)
    for text in [whole] if len(whole) <= LONGEST_RECORD else map(_plain, block.lines):
        if len(text) <= LONGEST and not DEBRIS.search(text) and not text.endswith(("…", "...")):
            yield Quotable(_headed(text, block.heading), block.heading)


def _headed(text: str, heading: str) -> str:
    """A record behind the heading above it, which tells whose it is, if that can be quoted."""
    whole = f"{_plain(heading).rstrip(':：')}: {text}"
    return whole if heading and len(whole) <= LONGEST and not DEBRIS.search(heading) else text


def _of_prose(block: Block, *, is_letter: bool) -> Iterator[Quotable | None]:
    """The sentences of a block, none in place of one that cannot be quoted."""
    about = f"{block.heading}\n{block.lead}".strip()
    for place, piece in enumerate(split_sentences(block.text)):
        may_open = is_letter and not place
        if (OPENING.match(piece) or may_open) and _is_quotable(piece, is_item=block.kind != "paragraph"):
            yield Quotable(piece, about)
        elif block.lead and piece == _plain(block.text):
            yield _led(piece, block.lead, about)
        else:
            yield None


def _led(item: str, paragraph: str, about: str) -> Quotable | None:
    """A whole item that is too little to be understood alone, behind the sentence that leads in its list."""
    *before, lead = split_sentences(paragraph)
    whole = f"{lead} {item}"
    if len(whole) > LONGEST or DEBRIS.search(whole):
        return None
    return Quotable(whole, about, reduce(next_antecedent, before, "") if points_back(lead) else "")


def split_sentences(block: str) -> list[str]:
    """The sentences of a text without line breaks, what stands behind the last one too."""
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
