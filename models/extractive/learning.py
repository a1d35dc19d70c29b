"""A search step's queries, and what it learns from the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from deep_research.models.extractive.antecedents import in_full
from deep_research.models.extractive.coverage import is_answered
from deep_research.models.extractive.editions import meant
from deep_research.models.extractive.finding import choose
from deep_research.models.extractive.leading import leading
from deep_research.models.extractive.leads import queries_in
from deep_research.models.extractive.pool import pool_of
from deep_research.models.extractive.quotations import pool_of_learnings
from deep_research.models.extractive.reading import Learned, documents_in, knowledge_in, question_in
from deep_research.models.extractive.researcher import MAX_QUERIES, first_queries
from deep_research.models.extractive.tables import telling_rows
from deep_research.models.extractive.topics import topic_of

MOST_LEARNED = 4
"""Learnings of one query: with more of them, the report picks sentences that have little to do with the question."""


def choose_queries(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The task and its names; once they were asked, new names that the learnings bring up, if there are any.

    A part of a question leaves the whole of it to the step that builds on all parts.
    """
    topic, known = topic_of(question_in(messages)), knowledge_in(messages)
    if not known.asked:
        return {"queries": first_queries(topic._replace(question=topic.text))}
    return {"queries": queries_in(pool_of_learnings(known.learnings, topic.whole), known.asked, MAX_QUERIES)}


def record_learnings(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The sentences and rows of tables in the results that serve the task best, and the open questions they answer."""
    topic = topic_of(question_in(messages))
    documents = meant(documents_in(messages), topic.whole)
    best = leading(documents, topic.whole)
    pool = pool_of(best, topic.whole)
    answer, evidence = ([(in_full(one), one.number) for one in part] for part in choose(pool, topic.text))
    found = [*answer, *telling_rows(best, pool), *evidence][:MOST_LEARNED]
    learned = [Learned(text, number) for text, number in found]
    gaps = enumerate(knowledge_in(messages).gaps, start=1)
    return {
        "learnings": [{"text": text, "document": number} for text, number in found],
        "answered_gaps": [number for number, gap in gaps if is_answered(pool_of_learnings(learned, gap))],
    }
