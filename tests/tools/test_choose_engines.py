"""Which search engines a run uses, and which settings keep it from starting."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from kit.engines import KEY

from deep_research.core.records.research import Scope
from deep_research.core.run.context import Context, within_scope
from deep_research.core.run.errors import SearchRefused
from deep_research.tools.offer import check_tools
from deep_research.tools.run_engines import choose_engines, fallback_engines


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
    assert [engine.name for engine in choose_engines(Context(**settings))] == names


@pytest.mark.fault(25)
def test_a_question_goes_on_with_the_engines_that_it_began_with_or_says_which_key_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began = within_scope(Context(), Scope(engines=("tavily",)))
    with pytest.raises(SearchRefused, match=r"set TAVILY_API_KEY, or start the question with other engines"):
        check_tools(began)
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    check_tools(began)
    offline = within_scope(Context(engines=("tavily",)), Scope(docs=("/papers",)))
    check_tools(offline)
    assert choose_engines(offline) == (), "a key that was not there at the start changes nothing"


def test_engines_stand_in_where_nobody_named_any_and_a_key_that_comes_later_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def names(context: Context) -> list[str]:
        return [engine.name for engine in (*choose_engines(context), *fallback_engines(context))]

    free = ["duckduckgo", "wikipedia", "arxiv"]
    began = Scope(engines=("duckduckgo",), engines_by_default=True)
    assert names(Context()) == names(within_scope(Context(engines=("arxiv",)), began)) == free
    assert names(Context(engines=("duckduckgo",))) == ["duckduckgo"]
    assert names(within_scope(Context(), Scope(engines=("duckduckgo",)))) == ["duckduckgo"], (
        "stored by earlier versions"
    )
    assert names(Context(docs=(Path("papers"),))) == []
    monkeypatch.setitem(sys.modules, "arxiv", None)
    assert names(Context()) == free[:2]
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    assert names(Context()) == names(within_scope(Context(), began)) == ["tavily"]
