"""The section of a report that tells what outdated versions say."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.evidence.labels.words import Labels
from deep_research.evidence.likeness import likeness
from deep_research.evidence.words import stems
from deep_research.models.extractive.editions import ALIKE
from deep_research.models.extractive.pool import Sentence
from deep_research.models.extractive.reading import Found, Quotation


def old_versions(findings: Sequence[Found], lead: Sequence[Sentence], words: Labels) -> list[str]:
    """A heading and the sentences that were in place of those of the answer, each marked as outdated; or nothing."""
    quoted = dict.fromkeys(one for found in findings for one in found.outdated if _is_like_any(one, lead))
    lines = [f"- {one.text} [{one.numbers[0]}] *({words.outdated})*" for one in quoted]
    return [f"## {words.old_versions}", "\n".join(lines)] if lines else []


def _is_like_any(quoted: Quotation, lead: Sequence[Sentence]) -> bool:
    own = frozenset(stems(quoted.text))
    return any(likeness(own, sentence.stems) >= ALIKE and sentence.text != quoted.text for sentence in lead)
