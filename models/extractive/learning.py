"""A search step's queries, and what it learns from the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from .antecedents import in_full
from .coverage import is_answered
from .editions import meant
from .finding import choose
from .leading import leading
from .leads import queries_in
from .pool import pool_of
from .quotations import pool_of_learnings
from .reading import Learned, documents_in, knowledge_in, question_in
from .researcher import MAX_QUERIES, first_queries
from .tables import telling_rows
from .topics import topic_of

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
