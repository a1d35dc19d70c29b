"""The writer: a report of quoted sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from deep_research.evidence.words import names, stems
from deep_research.models.extractive.chains import best_chain
from deep_research.models.extractive.coverage import LEAST_OF_NAME, share, share_of_name
from deep_research.models.extractive.pool import Pool, Sentence
from deep_research.models.extractive.quotations import pool_of_findings
from deep_research.models.extractive.reading import plan_in, question_in

LEAD_SENTENCES = 4
BROAD_SENTENCES = 15
NEAREST_SENTENCES = 3
LEAST_SHARE = 0.4
"""Share of the question's words that the leading documents must hold for it to count as answered."""
EXTRACT = "This report is an extract: it quotes the documents word for word and draws no conclusions of its own."
NO_ANSWER = "The documents do not answer this question."
BROAD = re.compile(
    r"\b(?:compar\w+|differ\w*|versus|vs|overview|list|pros|cons|advantages?|disadvantages?|trends?|history of|"
    r"vergleich\w*|unterschied\w*|überblick|différences?|diferencias?)\b|[?？].*[?？]|比较|区别",
    re.IGNORECASE | re.DOTALL,
)


def write_report(messages: Sequence[BaseMessage]) -> str:
    """The body of the report in Markdown."""
    question = " ".join(question_in(messages).split())
    pool = pool_of_findings(messages, question)
    lead = best_chain(pool, LEAD_SENTENCES).sentences
    numbers = {sentence.number for sentence in lead}
    leading = [sentence for sentence in pool.sentences if sentence.number in numbers]
    chosen = _by_worth(pool)[:BROAD_SENTENCES] if BROAD.search(question) else leading
    missing = [name for name in names(question) if not _is_found(name, chosen)]
    if missing or share(pool, chosen) < LEAST_SHARE:
        return _no_answer(question, missing, _nearest(pool))
    rest = [sentence for sentence in chosen if sentence not in lead]
    return "\n\n".join([" ".join(map(_cited, lead)), EXTRACT, *_sections(rest, plan_in(messages) or [question])])


def _is_found(name: str, sentences: Sequence[Sentence]) -> bool:
    return len(set(stems(name))) == 1 or share_of_name(name, sentences) >= LEAST_OF_NAME


def _by_worth(pool: Pool) -> list[Sentence]:
    return sorted(pool.sentences, key=lambda sentence: -pool.weight(sentence.stems | sentence.context))


def _nearest(pool: Pool) -> list[Sentence]:
    return [sentence for sentence in _by_worth(pool) if pool.weight(sentence.stems) >= LEAST_SHARE / 2][
        :NEAREST_SENTENCES
    ]


def _no_answer(question: str, missing: Sequence[str], nearest: Sequence[Sentence]) -> str:
    sought = " and ".join(f"“{name}”" for name in missing) or f"“{question}”"
    parts = [f"{NO_ANSWER} Nothing that fits was found on {sought}."]
    if nearest:
        parts += ["## Nearest passages", *map(_cited, nearest), EXTRACT]
    return "\n\n".join(parts)


def _sections(sentences: Sequence[Sentence], steps: Sequence[str]) -> list[str]:
    topics = [frozenset(stems(step)) for step in steps]
    lines: list[list[str]] = [[] for _ in steps]
    for sentence in sentences:
        shares = [len(sentence.stems & topic) / max(1, len(topic)) for topic in topics]
        lines[shares.index(max(shares))].append(_cited(sentence))
    return [part for step, section in zip(steps, lines, strict=True) if section for part in (f"## {step}", *section)]


def _cited(sentence: Sentence) -> str:
    return f"{sentence.text} [{sentence.number}]"
