"""Where the package for meaning is missing, who asks for it is told, and nobody else notices."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command import desk_in
from shelf import Place

from deep_research.run.context import Context
from deep_research.run.errors import ExtraMissing
from deep_research.tools.library import Library


@pytest.fixture(autouse=True)
def _missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)


def test_the_way_to_get_it_is_named(tmp_path: Path) -> None:
    place = Place.filled(tmp_path)
    with pytest.raises(ExtraMissing, match=r'pip install "deep-research\[embeddings\]"'):
        Library(place.context().model_copy(update={"embeddings": True})).refresh()
    assert place.indexed().search("harbour", 1)


def test_without_documents_it_is_not_needed() -> None:
    assert Library(Context(embeddings=True)).read("docs:papers/harbour.md") is None


@pytest.mark.parametrize(("options", "environment"), [(("--embeddings",), {}), ((), {"DEEP_RESEARCH_EMBEDDINGS": "1"})])
def test_the_command_line_and_the_environment_switch_it_on(
    tmp_path: Path, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    desk = desk_in(tmp_path)
    ask = ("ask", "When was the harbour deepened?", "--docs", str(desk.docs), "--model", "extractive", "--yes")
    assert desk.call(*ask).code == 0
    ended = desk.call(*ask, *options, **environment)
    assert (ended.code, 'pip install "deep-research[embeddings]"' in ended.err) == (2, True)
    assert "Traceback" not in ended.err
