"""The orchestrator: researches the plan step by step, follows what the findings bring up once, then reports."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from ...run import tool_names
from ...run.calls import NOT_RUN
from .coverage import lacks_its_kind, missing_names
from .leads import queries_in
from .quotations import pool_of_findings
from .reading import Exchange, exchanges_in, findings_in, plan_in, question_in
from .reply import Asked
from .topics import task_for

TASKS_PER_ROUND = 3
MAX_REFUSALS = 2
MAX_FOLLOW_UPS = 2


def next_tasks(messages: Sequence[BaseMessage]) -> list[Asked]:
    """The calls of the next turn."""
    question = " ".join(question_in(messages).split())
    exchanges = [exchange for exchange in exchanges_in(messages) if exchange.call["name"] == tool_names.RESEARCH_AGENT]
    planned = [task_for(step, question) for step in plan_in(messages) or [question]]
    tasks = [task for task in planned if _is_open(task, exchanges)][:TASKS_PER_ROUND]
    if not tasks and all(_task(exchange) in planned for exchange in exchanges):
        tasks = [task_for(lead, question) for lead in _follow_ups(messages, question)]
    asked = [Asked(tool_names.RESEARCH_AGENT, {"task": task}) for task in tasks]
    return asked or [Asked(tool_names.GENERATE_REPORT, {})]


def _is_open(task: str, exchanges: Sequence[Exchange]) -> bool:
    replies = [exchange.reply for exchange in exchanges if _task(exchange) == task]
    return len(replies) < MAX_REFUSALS and all(reply.startswith(NOT_RUN) for reply in replies)


def _task(exchange: Exchange) -> str:
    return str(exchange.call["args"].get("task", ""))


def _follow_ups(messages: Sequence[BaseMessage], question: str) -> list[str]:
    pool = pool_of_findings(findings_in(messages), question)
    if not pool.sentences or not (missing_names(pool) or lacks_its_kind(pool)):
        return []
    return queries_in(pool, (), MAX_FOLLOW_UPS)
