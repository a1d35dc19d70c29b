"""The sections of a report that tell what outdated versions, drafts and versions to come say."""

from __future__ import annotations

from collections.abc import Sequence

from ...evidence.labels import Labels
from ...evidence.likeness import likeness
from ...evidence.words import stems
from .editions import ALIKE
from .pool import Sentence
from .reading import Found, Quotation


def old_versions(findings: Sequence[Found], lead: Sequence[Sentence], words: Labels) -> list[str]:
    """Headings and the sentences that stand in place of those of the answer, the outdated ones marked; or nothing.

    Those that are not in force yet get their marks when the report is checked, as everywhere in it.
    """
    outdated = [one for found in findings for one in found.outdated]
    pending = [one for found in findings for one in found.pending]
    return [
        *_section(words.old_versions, outdated, lead, f" *({words.outdated})*"),
        *_section(words.pending_versions, pending, lead, ""),
    ]


def _section(heading: str, found: Sequence[Quotation], lead: Sequence[Sentence], mark: str) -> list[str]:
    only_meant = {one.antecedent for one in found}
    quoted = dict.fromkeys(one for one in found if one.text not in only_meant and _is_like_any(one, lead))
    lines = [f"- {_cited(one)}{mark}" for one in quoted]
    return [f"## {heading}", "\n".join(lines)] if lines else []


def _is_like_any(quoted: Quotation, lead: Sequence[Sentence]) -> bool:
    own = frozenset(stems(f"{quoted.antecedent} {quoted.text}"))
    return any(likeness(own, sentence.meaning) >= ALIKE and sentence.text != quoted.text for sentence in lead)


def _cited(quoted: Quotation) -> str:
    return " ".join(f"{text} [{quoted.numbers[0]}]" for text in (quoted.antecedent, quoted.text) if text)
