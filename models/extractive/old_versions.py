"""The section of a report that tells what outdated versions say."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.evidence.labels.words import Labels
from deep_research.models.extractive.pool import Pool
from deep_research.models.extractive.reading import Found


def old_versions(findings: Sequence[Found], pool: Pool, words: Labels) -> list[str]:
    """A heading and the sentences, each marked as outdated; nothing if the report quotes them all as they are."""
    said = {sentence.text for sentence in pool.sentences}
    quoted = dict.fromkeys(one for found in findings for one in found.outdated if one.text not in said)
    lines = [f"- {one.text} [{one.numbers[0]}] *({words.outdated})*" for one in quoted]
    return [f"## {words.old_versions}", "\n".join(lines)] if lines else []
