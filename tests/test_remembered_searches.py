"""A search that was answered is not paid for again by the same question."""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore
from search_api import Answer, found, search_api

from deep_research.run.context import Context
from deep_research.run.pages import Pages
from deep_research.tools.desk import Desk
from deep_research.tools.offer import research_tool
from deep_research.tools.outcome import Outcome
from deep_research.tools.web_search import WebSearchArguments


async def search(store: InMemoryStore, folder: Path, *queries: str, question: str = "question") -> Outcome:
    desk = Desk(Pages(store, "thread"), question, {})
    tool = research_tool("web_search", Context(data_dir=folder, engines=("tavily",)), desk)
    return await tool.run(WebSearchArguments(queries=list(queries)))


async def test_an_answered_query_is_not_sent_again_for_the_same_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with search_api() as api:
        for name, value in api.environment().items():
            monkeypatch.setenv(name, value)
        api.on("light", Answer([found("https://a.example/light", "Light", "Lit in 1844.")]))
        store = InMemoryStore()
        first = await search(store, tmp_path, "light", "nothing at all")
        second = await search(store, tmp_path, "Light", "nothing at all")
        assert first.hits == second.hits
        assert [hit.source.title for hit in second.hits] == ["Light"]
        assert sorted(api.queries) == ["light", "nothing at all", "nothing at all"]
        await search(store, tmp_path, "light", question="another question")
        assert api.queries[3:] == ["light"]
