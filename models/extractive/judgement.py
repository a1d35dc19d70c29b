"""What a step's learnings come to: whether they complete it, what they show, what is still open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from ...evidence.words import stems
from .antecedents import in_full
from .chains import best_chain
from .coverage import is_answered, lacks_its_kind, missing, missing_names, share
from .leads import queries_in
from .pool import Pool
from .prose import listed
from .quotations import pool_of_learnings
from .reading import Knowledge, knowledge_in, question_in
from .topics import Topic, task_for, title_of, topic_of
from .typed_plan import ANALYSIS

MAX_INSIGHTS = 3
WELL_SOURCED = 3
"""Documents from which on the quality of what was learned is 1."""
LEAST_QUALITY = 0.5
LITTLE = 0.7
"""Completeness below which a further step is suggested."""


def give_verdict(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Complete if the learnings hold nearly all words of the task, and the kind of thing that it asks for."""
    pool = _learned(messages)
    return {"is_complete": is_answered(pool), "reasoning": _reasoning(pool), "key_elements": missing(pool)}


def record_insights(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The learnings that together serve the task best; open is what they do not say of names in the task."""
    topic, pool = topic_of(question_in(messages)), _learned(messages)
    chain = best_chain(pool_of_learnings(knowledge_in(messages).learnings, topic.whole), MAX_INSIGHTS)
    gaps = [
        {"question": f"What is known about {name}?", "relevance": _rounded(pool.weight(stems(name)))}
        for name in missing_names(pool)
    ]
    return {"insights": list(map(in_full, chain.sentences)), "gaps": gaps}


def evaluate_outcome(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """How much of the task the learnings hold, from how many documents; the best lead if that is little."""
    known, pool = knowledge_in(messages), _learned(messages)
    # The thought that closes its plans names nothing that could be searched for.
    is_thought = topic_of(question_in(messages)).text == ANALYSIS
    completeness = 1.0 if is_thought else _rounded(share(pool, pool.sentences))
    documents = {learning.document for learning in known.learnings} - {None}
    quality = max(LEAST_QUALITY, len(documents) / WELL_SOURCED) if known.learnings else 0.0
    steps = _next_steps(known, topic_of(question_in(messages))) if completeness < LITTLE else []
    return {"completeness": completeness, "quality": _rounded(quality), "next_steps": steps}


def _next_steps(known: Knowledge, topic: Topic) -> list[dict[str, Any]]:
    leads = queries_in(pool_of_learnings(known.learnings, topic.whole), known.asked, 1)
    return [
        {"title": title_of(lead), "rationale": task_for(lead, topic.question), "requires_search": True}
        for lead in leads
    ]


def _learned(messages: Sequence[BaseMessage]) -> Pool:
    """The learnings, judged by the task alone: its question may ask for more than this step is to find."""
    return pool_of_learnings(knowledge_in(messages).learnings, topic_of(question_in(messages)).text)


def _reasoning(pool: Pool) -> str:
    absent = missing(pool)
    if is_answered(pool):
        rest = f", except for {listed(absent)}" if absent else ""
        return f"What was learned speaks of all that the task names{rest}."
    lacks = [f"does not speak of {listed(absent)}"] if absent else []
    lacks += [f"names no {pool.kind}"] if lacks_its_kind(pool) else []
    return f"What was learned {' and '.join(lacks) or 'does not answer the task'}."


def _rounded(value: float) -> float:
    return min(1.0, round(value, 2))
