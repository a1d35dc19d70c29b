"""The researcher's finding: the sentences that serve the task best, each with its marker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from deep_research.models.extractive.chains import best_chain
from deep_research.models.extractive.pool import Pool, Sentence, pool_of
from deep_research.models.extractive.reading import documents_in, question_in
from deep_research.models.extractive.topics import topic_of

CHAIN_LENGTH = 5
MAX_SENTENCES = 12
MAX_PER_DOCUMENT = 3
LEAST_WEIGHT = 0.12


def write_finding(messages: Sequence[BaseMessage]) -> str:
    """The quoted sentences, best first, one a paragraph; or a sentence that says that nothing was found."""
    topic = topic_of(question_in(messages))
    chosen = choose(pool_of(documents_in(messages), topic.whole))
    if not chosen:
        return f"Nothing was found that fits the task: {' '.join(topic.text.split())}"
    return "\n\n".join(f"{sentence.text} [{sentence.number}]" for sentence in chosen)


def choose(pool: Pool) -> list[Sentence]:
    """The best chain, then further sentences of its documents, then others that fit."""
    chain = best_chain(pool, CHAIN_LENGTH).sentences
    numbers = {sentence.number for sentence in chain}
    others = [sentence for sentence in pool.sentences if sentence not in chain]
    fitting = [
        sentence for sentence in others if pool.weight(sentence.stems) >= LEAST_WEIGHT or sentence.number in numbers
    ]
    fitting.sort(key=lambda sentence: (sentence.number not in numbers, -pool.weight(sentence.stems), sentence.place))
    return _at_most_per_document([*chain, *fitting])[:MAX_SENTENCES]


def _at_most_per_document(ordered: Sequence[Sentence]) -> list[Sentence]:
    counts: Counter[int] = Counter()
    kept = []
    for sentence in ordered:
        counts[sentence.number] += 1
        if counts[sentence.number] <= MAX_PER_DOCUMENT:
            kept.append(sentence)
    return kept
