"""The researcher's turns: search, on the web follow the names that the best passages bring up, then report."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from langchain_core.messages import BaseMessage

from ...evidence.words import names, stems
from ...run import tool_names
from .leading import leading
from .leads import queries_in
from .pool import pool_of
from .reading import documents_in, exchanges_in, question_in
from .reply import Asked
from .topics import Topic, topic_of

SEARCHES = (tool_names.INTERNAL_SEARCH, tool_names.WEB_SEARCH)
MAX_ROUNDS = 5
MAX_FOLLOW_UPS = 2
MAX_QUERIES = 3
MAX_OPENED = 3
QUERY_CHARACTERS = 300
CUT = re.compile(r"(?:…|\.\.\.|[^.!?。！？\"'”’»)\]])\s*$")


def next_round(messages: Sequence[BaseMessage], tools: Collection[str]) -> list[Asked]:
    """The call of the next turn: every search once, pages that were cut, two more rounds on the web, the report."""
    searches = [name for name in SEARCHES if name in tools]
    done = [
        exchange.call
        for exchange in exchanges_in(messages)
        if exchange.call["name"] in (*SEARCHES, tool_names.OPEN_URL)
    ]
    used = [call["name"] for call in done]
    follow_ups = sum(name in SEARCHES for name in used) - len(searches)
    may_open = tool_names.OPEN_URL in tools and used[-1:] != [tool_names.OPEN_URL]
    if not searches or len(done) >= MAX_ROUNDS:
        return [Asked(tool_names.GENERATE_REPORT, {})]
    if may_open and (addresses := _worth_opening(messages)):
        return [Asked(tool_names.OPEN_URL, {"urls": addresses})]
    if follow_ups < 0:
        unused = next(name for name in searches if name not in used)
        return [Asked(unused, {"queries": _queries(unused, topic_of(question_in(messages)))})]
    # The search of the user's documents follows names by itself.
    may_follow = tool_names.WEB_SEARCH in searches and follow_ups < MAX_FOLLOW_UPS
    if may_follow and (queries := _follow_up_queries(messages)):
        return [Asked(tool_names.WEB_SEARCH, {"queries": queries})]
    return [Asked(tool_names.GENERATE_REPORT, {})]


def _queries(search: str, topic: Topic) -> list[str]:
    return first_queries(topic)[: 1 if search == tool_names.INTERNAL_SEARCH else MAX_QUERIES]


def first_queries(topic: Topic) -> list[str]:
    """The task, its question and the longest names, as queries."""
    found = sorted(names(topic.text) or names(topic.question), key=lambda name: (-len(stems(name)), -len(name)))
    queries = [" ".join(text.split())[:QUERY_CHARACTERS] for text in (topic.text, topic.question, *found)]
    return list(dict.fromkeys(queries))[:MAX_QUERIES]


def _follow_up_queries(messages: Sequence[BaseMessage]) -> list[str]:
    pool = pool_of(documents_in(messages), topic_of(question_in(messages)).whole)
    return queries_in(pool, _arguments(messages, "queries"), MAX_QUERIES)


def _worth_opening(messages: Sequence[BaseMessage]) -> list[str]:
    best = leading(documents_in(messages), topic_of(question_in(messages)).whole)
    addresses = [document.address for document in best if all(CUT.search(text) for text in document.texts)]
    opened = {"", *_arguments(messages, "urls")}
    return [address for address in dict.fromkeys(addresses) if address not in opened][:MAX_OPENED]


def _arguments(messages: Sequence[BaseMessage], name: str) -> list[str]:
    return [str(value) for exchange in exchanges_in(messages) for value in exchange.call["args"].get(name, ())]
