"""Retrievers, tools and engines that the settings name as `package.module:Class`; stored names import nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.runs import used

from deep_research.app.embed import build_graph
from deep_research.core.records.research import Scope
from deep_research.core.run.context import Context, within_scope
from deep_research.core.run.errors import UnknownSetting
from deep_research.tools.offer import check_tools
from deep_research.tools.run_engines import choose_engines

SHELVES = '''
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool

from deep_research.tools.engine import Found

LIT = "The Skerry Light was lit for the first time in 1844."


class Archive(BaseRetriever):
    """A retriever."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(LIT, metadata={"title": "Log", "source": "https://archive.example/"})]


@tool
def find(query: str) -> str:
    """Find pages."""
    return LIT


class Shelf:
    """An engine of its own."""

    name, title = "shelf", "Shelf"

    def __init__(self, context):
        self.context = context

    async def search(self, query, count):
        return [Found("Log", "https://archive.example/", LIT)]


NUMBER = 7


def number(context):
    """Make no engine."""
    return NUMBER
'''
TRAP = "from pathlib import Path\nPath({!r}).touch()\n"


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write two modules that are not imported yet; yield the file that importing the second creates."""
    sprung = tmp_path / "sprung"
    (tmp_path / "shelves_here.py").write_text(SHELVES)
    (tmp_path / "trap_here.py").write_text(TRAP.format(str(sprung)))
    monkeypatch.syspath_prepend(tmp_path)
    yield sprung
    for name in ("shelves_here", "trap_here"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["Archive", "find", "Shelf"])
async def test_an_engine_named_by_its_import_path_searches_under_that_name(name: str) -> None:
    dotted = f"shelves_here:{name}"
    context = Context(engines=f"{dotted} wikipedia")
    engine, _ = choose_engines(context)
    assert engine.name == dotted
    context = within_scope(context, Scope(engines=(dotted,)))
    outcome = await used("web_search", context, queries=["light"])
    [hit] = outcome.hits
    assert "1844" in hit.excerpt and hit.source.engines == (dotted,)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_at.all:Archive", "could not be loaded: No module named 'nowhere_at'"),
        ("shelves_here:Nothing", "could not be loaded: there is no 'Nothing' in 'shelves_here'"),
        (":Archive", "could not be loaded: there is no 'Archive' in ''"),
        ("shelves_here:NUMBER", r"could not be loaded \(TypeError\)"),
        ("shelves_here:number", "is not a LangChain retriever, a LangChain tool or a function that returns an engine"),
    ],
)
def test_what_cannot_be_loaded_is_a_line_with_its_name(name: str, words: str) -> None:
    with pytest.raises(UnknownSetting, match=rf"^engines: '{name}' {words}"):
        choose_engines(Context(engines=(name,)))


@pytest.mark.parametrize("setting", ["engines", "retrievers"])
def test_a_stored_question_imports_nothing_that_the_settings_do_not_name(modules: Path, setting: str) -> None:
    scope = Scope.model_validate({setting: ("trap_here:Trap",)})
    for context in (Context(), Context.model_validate({setting: ("shelves_here:Archive",)})):
        with pytest.raises(
            UnknownSetting, match=rf"'trap_here:Trap', which is not among .*DEEP_RESEARCH_{setting.upper()}"
        ):
            within_scope(context, scope)
    assert not modules.exists() and "trap_here" not in sys.modules


async def test_the_environment_names_retrievers_by_import_path_and_users_of_a_server_name_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_RETRIEVERS", "shelves_here:Archive")
    context = within_scope(Context(), Scope(retrievers=("shelves_here:Archive",)))
    outcome = await used("internal_search", context, queries=["light"])
    assert "1844" in outcome.hits[0].excerpt
    with pytest.raises(UnknownSetting, match="retrievers: 'shelves_here:Shelf' is not a LangChain retriever"):
        check_tools(Context(retrievers="shelves_here:Shelf"))
    with pytest.raises(ValueError, match="retrievers"):
        Context(retrievers="letters")
    schema = build_graph().get_context_jsonschema()
    assert schema is not None and "retrievers" not in schema["properties"]
