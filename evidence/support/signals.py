"""What a claim and a source have in common, in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from deep_research.evidence.support.alignment import Alignment, Window
from deep_research.evidence.support.conflicts import Conflict
from deep_research.evidence.support.matching import Matches
from deep_research.evidence.support.reading import Evidence
from deep_research.evidence.support.synonyms import HEDGES
from deep_research.evidence.support.terms import Term

CHUNK = 6
"""Words of a claim that are looked at together for the part that is covered least."""


def signals_of(
    matches: Matches, evidence: Evidence, windows: Sequence[Window], alignment: Alignment, conflicts: Sequence[Conflict]
) -> dict[str, float]:
    """What the judgement rests on, by name."""
    everywhere = 0
    for mask in matches.masks:
        everywhere |= mask
    shares = [window.share for window in windows]
    telling = [bit for bit, weight in enumerate(matches.weights) if weight > 0.2]
    names = [bit for bit, term in enumerate(matches.terms) if term.kind == "name"]
    amounts = [bit for bit, term in enumerate(matches.terms) if term.kind == "amount"]
    pairs = [
        (matches.terms[one].key, matches.terms[other].key) for one, other in zip(telling, telling[1:], strict=False)
    ]
    held = _pairs_held(matches, evidence)
    missing = sum(not everywhere >> bit & 1 for bit in telling)
    return {
        "everywhere": matches.share(everywhere),
        "in one sentence": shares[0],
        "in two": shares[min(1, len(shares) - 1)],
        "in three": shares[-1],
        "in order": alignment.share,
        "pairs": sum(pair in held for pair in pairs) / len(pairs) if pairs else matches.share(everywhere),
        "weakest part": _weakest(matches, everywhere, telling),
        "weakest part in passage": _weakest(matches, alignment.window.mask, telling),
        "missing": math.log1p(missing),
        "missing in passage": math.log1p(sum(not alignment.window.mask >> bit & 1 for bit in telling)),
        "names": _share_of(names, everywhere),
        "names in passage": _share_of(names, alignment.window.mask),
        "amounts": _share_of(amounts, everywhere),
        "amounts in passage": _share_of(amounts, alignment.window.mask),
        "length": math.log1p(len(telling)),
        "length of source": math.log1p(len(evidence.passages)),
        **{
            f"{kind} conflict": max((one.closeness for one in conflicts if one.kind == kind), default=0.0)
            for kind in ("number", "unit", "date", "name", "negation", "opposite")
        },
        "loose conflict": float(
            any(one.kind in ("number", "date", "opposite") and not one.is_sure for one in conflicts)
        ),
        "hedged": float(_is_hedged(alignment.terms) and not _is_hedged(matches.terms)),
    }


def _is_hedged(terms: Sequence[Term]) -> bool:
    return any(term.raw.lower() in HEDGES for term in terms)


def _pairs_held(matches: Matches, evidence: Evidence) -> frozenset[tuple[str, str]]:
    keys = matches.keys
    return frozenset((keys[one], keys[other]) for one, other in evidence.pairs if one in keys and other in keys)


def _weakest(matches: Matches, mask: int, telling: Sequence[int]) -> float:
    """The share of the part of the claim that is covered least."""
    parts = [telling[first : first + CHUNK] for first in range(max(1, len(telling) - CHUNK + 1))]
    return min((_weighted(matches, part, mask) for part in parts), default=0.0)


def _weighted(matches: Matches, bits: Sequence[int], mask: int) -> float:
    total = sum(matches.weights[bit] for bit in bits)
    return sum(matches.weights[bit] for bit in bits if mask >> bit & 1) / total if total else 0.0


def _share_of(bits: Sequence[int], mask: int) -> float:
    return sum(mask >> bit & 1 for bit in bits) / len(bits) if bits else 1.0
