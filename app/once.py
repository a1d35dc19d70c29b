"""One question, one answer: the shortest way to a report."""

from __future__ import annotations

from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage

from ..knowledge import Source
from ..state import Report
from .embed import build_graph, read_context
from .strategies import Strategy


class Answer(NamedTuple):
    """What `research` returns."""

    markdown: str
    """The report with links and its list of sources."""
    report: Report
    """The report as data: text with markers, and the keys of its sources."""
    sources: tuple[Source, ...]
    """The cited sources; the first has the number 1."""


def research(question: str, strategy: Strategy = "orchestrated", **settings: Any) -> Answer:
    """Research a question and return the report; nothing is asked back and nothing is kept.

    `settings` are the fields of `Context`, for example `docs=["folder"]` or `models="extractive"`. Raises
    `UserMistake` if the question or a setting has to change, `RunFailed` if a model writes nothing or falls silent;
    errors of a model's own client are raised as they are.
    """
    context = read_context({"clarify": "assume", **settings})
    state = build_graph(strategy).invoke(
        {"messages": [HumanMessage(question)]}, context=context, output_keys=["messages", "report", "sources"]
    )
    report: Report = state["report"]
    sources = tuple(state["sources"][key] for key in report.sources)
    return Answer(state["messages"][-1].text, report, sources)
