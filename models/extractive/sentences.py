"""The sentences of a text that can be quoted as they stand."""

from __future__ import annotations

import re

from deep_research.evidence.sentences import ends_sentence

LONGEST = 600
CLOSERS = r"[\"'”’»)\]」』]*"
BOUNDARY = re.compile(rf"[.!?]{CLOSERS}(?=\s|\[\^?\d)|[。！？]{CLOSERS}")
REFERENCE = re.compile(r"\[(\^?\d[\d,\s–-]*)\]")
REFERENCES = re.compile(r"^(?:\s*\[\^?\d+\])+")
COMPLETE = re.compile(rf"[.!?。！？]{CLOSERS}$")
LINE_MARK = re.compile(r"^\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+|>\s*)")
NO_PROSE = re.compile(r"^\s*(?:#{1,6}\s|[-=*_]{3,}\s*$|\|)")
DEBRIS = re.compile(r"\]\(|\||```|\{\{|\}\}|</?[a-zA-Z]|https?://|�|\*\*|__")
SALUTATION = re.compile(r"\w,$")
SALUTATION_WORDS = 6
OPENING = re.compile(r"^[\"'“„«(¿¡「『]*(?:[^\W_a-zß-öø-ÿ])")


def sentences(text: str) -> list[str]:
    """Whole sentences in order, white space as single spaces; headings, tables and cut-off ends are left out."""
    found: list[str] = []
    before = ""
    for block, is_item in _blocks(text):
        pieces = _split(block)
        # Behind a salutation many languages go on in lower case.
        opens_letter = SALUTATION.search(before) is not None and len(before.split()) <= SALUTATION_WORDS
        found += [
            piece
            for place, piece in enumerate(pieces)
            if _is_quotable(piece, is_item) and (OPENING.match(piece) or (opens_letter and not place))
        ]
        before = block
    return list(dict.fromkeys(found))


def _blocks(text: str) -> list[tuple[str, bool]]:
    blocks: list[tuple[list[str], bool]] = [([], False)]
    for line in text.splitlines():
        mark = LINE_MARK.match(line)
        if not line.strip() or NO_PROSE.match(line):
            blocks.append(([], False))
        elif mark:
            blocks.append(([line[mark.end() :]], True))
        else:
            blocks[-1][0].append(line)
    return [(" ".join(" ".join(lines).split()), is_item) for lines, is_item in blocks if lines]


def _split(block: str) -> list[str]:
    ends = [match.end() for match in BOUNDARY.finditer(block) if not _is_inside(block, match)]
    pieces = [block[start:end] for start, end in zip([0, *ends], [*ends, len(block)], strict=True)]
    # A number in brackets would be read as a citation of ours.
    return [REFERENCE.sub(r"(\1)", REFERENCES.sub("", piece)).strip() for piece in pieces]


def _is_inside(block: str, match: re.Match[str]) -> bool:
    following = REFERENCES.sub("", block[match.end() :]).lstrip()
    if match.group() != "." or not following or following.startswith("…"):
        return False
    return not ends_sentence(block[: match.start()], following)


def _is_quotable(piece: str, is_item: bool) -> bool:
    if len(piece) > LONGEST or DEBRIS.search(piece):
        return False
    words = len(piece.split())
    if COMPLETE.search(piece):
        return not piece.endswith("...") and (words >= 4 or not piece.isascii())
    return is_item and words >= 3 and not piece.endswith(("…", ":"))
