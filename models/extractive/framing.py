"""What stands around a report: the summary of the conversation, and what the report will say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from .antecedents import in_full
from .chains import best_chain
from .prose import counted
from .quotations import pool_of_learnings
from .reading import knowledge_in, question_in
from .writer import LEAD_SENTENCES


def record_summary(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The user's own words."""
    return {"summary": _question(messages)}


def frame_report(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Where the report begins and where it ends up, and from how much that was chosen."""
    question = _question(messages)
    pool = pool_of_learnings(knowledge_in(messages).learnings, question)
    lead = best_chain(pool, LEAD_SENTENCES).sentences
    message = " ".join(dict.fromkeys(map(in_full, (*lead[:1], *lead[-1:]))))
    choice = f"{counted(len(pool.sentences), 'sentence')} from {counted(len(pool.titles), 'source')}"
    return {
        "main_message": message or f"Nothing that fits was found on “{question}”.",
        "reasoning": f"The choice was among {choice}.",
    }


def _question(messages: Sequence[BaseMessage]) -> str:
    return " ".join(question_in(messages).split())
