"""Which search engines a run uses, also by import path, and which settings keep it from starting."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from kit.engines import KEY
from kit.runs import used
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool

from deep_research.app.embed import build_graph
from deep_research.core.errors import SearchRefused, UnknownSetting
from deep_research.core.records.research import Scope
from deep_research.core.settings.context import Context
from deep_research.tools.engine import Found
from deep_research.tools.offer import ToolOffer
from deep_research.tools.run_engines import SearchEngines


@pytest.mark.parametrize(
    ("key", "settings", "names"),
    [
        ("", {}, ["duckduckgo"]),
        (KEY, {}, ["tavily"]),
        ("", {"docs": (Path("papers"),)}, []),
        (KEY, {"docs": (Path("papers"),)}, ["tavily"]),
        (KEY, {"engines": ()}, []),
        ("", {"engines": "wikipedia, arxiv wikipedia"}, ["wikipedia", "arxiv"]),
    ],
)
def test_a_run_searches_by_the_engines_of_its_settings_or_the_default_ones(
    monkeypatch: pytest.MonkeyPatch, key: str, settings: dict[str, Any], names: list[str]
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", key)
    assert [engine.name for engine in SearchEngines(Context(**settings)).chosen()] == names


@pytest.mark.fault(25)
def test_a_question_goes_on_with_the_engines_that_it_began_with_or_says_which_key_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began = Context().within(Scope(engines=("tavily",)))
    with pytest.raises(
        SearchRefused, match=r"set TAVILY_API_KEY, or start the question with other engines"
    ):
        ToolOffer(began).check()
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    ToolOffer(began).check()
    offline = Context(engines=("tavily",)).within(Scope(docs=("/papers",)))
    ToolOffer(offline).check()
    assert SearchEngines(offline).chosen() == (), (
        "a key that was not there at the start changes nothing"
    )


def test_engines_stand_in_where_nobody_named_any_and_a_key_that_comes_later_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def names(context: Context) -> list[str]:
        return [
            engine.name
            for engine in (*SearchEngines(context).chosen(), *SearchEngines(context).fallback())
        ]

    free = ["duckduckgo", "wikipedia", "arxiv"]
    began = Scope(engines=("duckduckgo",), engines_by_default=True)
    assert names(Context()) == names(Context(engines=("arxiv",)).within(began)) == free
    assert names(Context(engines=("duckduckgo",))) == ["duckduckgo"]
    assert names(Context().within(Scope(engines=("duckduckgo",)))) == ["duckduckgo"]
    assert names(Context(docs=(Path("papers"),))) == []
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    assert names(Context()) == names(Context().within(began)) == ["tavily"]


LIT = "The Skerry Light was lit for the first time in 1844."


class Archive(BaseRetriever):
    """A retriever."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(LIT, metadata={"title": "Log", "source": "https://archive.example/"})]


@tool
def find(query: str) -> str:
    """Find pages."""
    return LIT


class Shelf:
    """An engine of its own."""

    name, title = "shelf", "Shelf"

    def __init__(self, context: Context) -> None:
        self.context = context

    async def search(self, query: str, count: int) -> list[Found]:
        return [Found("Log", "https://archive.example/", LIT)]


NUMBER = 7


def number(context: Context) -> int:
    """Make no engine."""
    return NUMBER


@pytest.mark.parametrize("name", ["Archive", "find", "Shelf"])
async def test_an_engine_named_by_its_import_path_searches_under_that_name(name: str) -> None:
    dotted = f"{__name__}:{name}"
    context = Context(engines=f"{dotted} wikipedia")
    engine, _ = SearchEngines(context).chosen()
    assert engine.name == dotted
    context = context.within(Scope(engines=(dotted,)))
    outcome = await used("web_search", context, queries=["light"])
    [hit] = outcome.hits
    assert "1844" in hit.excerpt and hit.source.engines == (dotted,)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_at.all:Archive", "could not be loaded: No module named 'nowhere_at'"),
        (f"{__name__}:Nothing", f"could not be loaded: there is no 'Nothing' in '{__name__}'"),
        (":Archive", "could not be loaded: there is no 'Archive' in ''"),
        (f"{__name__}:NUMBER", r"could not be loaded \(TypeError\)"),
        (
            f"{__name__}:number",
            "is not a LangChain retriever, a LangChain tool or a function that returns an engine",
        ),
    ],
)
def test_an_engine_that_cannot_be_loaded_is_named_in_one_line(name: str, words: str) -> None:
    with pytest.raises(UnknownSetting, match=rf"^engines: '{name}' {words}"):
        SearchEngines(Context(engines=(name,))).chosen()


@pytest.mark.parametrize("setting", ["engines", "retrievers"])
def test_a_stored_question_imports_nothing_that_the_settings_do_not_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    (tmp_path / "trap_here.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    scope = Scope.model_validate({setting: ("trap_here:Trap",)})
    for context in (Context(), Context.model_validate({setting: (f"{__name__}:Archive",)})):
        with pytest.raises(
            UnknownSetting,
            match=rf"'trap_here:Trap', which is not among .*DEEP_RESEARCH_{setting.upper()}",
        ):
            context.within(scope)
    assert "trap_here" not in sys.modules


async def test_the_environment_names_retrievers_by_import_path_and_users_of_a_server_name_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_RETRIEVERS", f"{__name__}:Archive")
    context = Context().within(Scope(retrievers=(f"{__name__}:Archive",)))
    outcome = await used("internal_search", context, queries=["light"])
    assert "1844" in outcome.hits[0].excerpt
    with pytest.raises(
        UnknownSetting, match=f"retrievers: '{__name__}:Shelf' is not a LangChain retriever"
    ):
        ToolOffer(Context(retrievers=f"{__name__}:Shelf")).check()
    with pytest.raises(ValueError, match="retrievers"):
        Context(retrievers="letters")
    schema = build_graph().get_context_jsonschema()
    assert schema is not None and "retrievers" not in schema["properties"]
