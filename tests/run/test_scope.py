"""What a question may search is fixed at its start, whoever resumes it and with whatever settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.openai_server import Received, Reply
from kit.wire import END, QUESTION, WireLab, is_right, search_for, task_of, wire_lab
from langgraph.types import Command

from deep_research.core.errors import KeyRefused, SearchRefused, WindowTooSmall
from deep_research.core.records.research import Scope
from deep_research.state import ResearchState

Patch = pytest.MonkeyPatch


def as_another_client(wire: WireLab, monkeypatch: Patch, folder: Path) -> None:
    """Resume the run without settings from now on; the server's environment leads to the same
    models."""
    given = {
        "MODELS": "openai:fake-1",
        "WINDOW": "100000",
        "TOOL_CALLS": "native",
        "DATA_DIR": str(folder),
    }
    given["ALLOW_PRIVATE"] = wire.web.netloc
    for name, value in given.items():
        monkeypatch.setenv(f"DEEP_RESEARCH_{name}", value)
    wire.settings = {}


def insistent(request: Received) -> Reply:
    """A researcher that searches the web even if it is not offered."""
    return END if len(request.messages) > 6 else search_for(task_of(request))


async def asked_and_resumed(wire: WireLab, monkeypatch: Patch, folder: Path) -> ResearchState:
    await wire.ask()
    as_another_client(wire, monkeypatch, folder)
    return await wire.ask(Command(resume="yes"))


async def test_a_run_without_the_web_stays_offline_when_it_is_resumed(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "light.md").write_text("# Light\n\nThe light was lit in 1844.")
    settings: dict[str, Any] = {
        "docs": (documents,),
        "engines": (),
        "review_plan": True,
        "clarify": "off",
    }
    with wire_lab(tmp_path / "data", monkeypatch, {"researcher": insistent}, **settings) as wire:
        state = await asked_and_resumed(wire, monkeypatch, tmp_path / "data")
        assert wire.engine.requests == []
        assert wire.asked()["researcher"] > 3
    assert state.run
    listed = "<data-documents>\n- Light (docs:documents/light.md, 35 characters)\n</data-documents>"
    assert state.run.scope == Scope(
        docs=(str(documents),), documents=listed, whole=("docs:documents/light.md",)
    )


async def test_a_resumed_run_keeps_its_domains_and_its_date_and_the_next_question_uses_its_own(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    settings: dict[str, Any] = {
        "domains_deny": ("evil.example",),
        "published_after": "2024-02-03",
        "review_plan": True,
    }
    with wire_lab(tmp_path, monkeypatch, **settings) as wire:
        state = await asked_and_resumed(wire, monkeypatch, tmp_path)
        assert is_right(wire, state)
        filters = wire.of_type("search_tool_filter_delta")
        assert len(wire.engine.requests) == len(filters) == 3
        assert [request.json["exclude_domains"] for request in wire.engine.requests] == [
            ["evil.example"]
        ] * 3
        assert {request.json["start_date"] for request in wire.engine.requests} == {"2024-02-03"}
        second = await wire.ask(f"And once more: {QUESTION}")
    given = Scope(engines=("tavily",), open_copies=True)
    limited = {"domains_deny": ("evil.example",), "published_after": "2024-02-03"}
    assert (state.run.scope, second.run.scope) == (given.model_copy(update=limited), given)
    assert [(each["excluded"], each["time_start"]) for each in filters] == [
        (["evil.example"], "2024-02-03")
    ] * 3


async def test_a_missing_setting_is_named_on_resumption_before_anything_is_spent(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    with wire_lab(tmp_path, monkeypatch, review_plan=True) as wire:
        await wire.ask()
        asked = wire.asked()
        for variable, kind in (("OPENAI_BASE_URL", KeyRefused), ("TAVILY_API_KEY", SearchRefused)):
            with monkeypatch.context() as without:
                without.delenv(variable)
                without.delenv(
                    "OPENAI_API_KEY" if variable == "OPENAI_BASE_URL" else variable, raising=False
                )
                await wire.fail(kind, "yes, go on")
        wire.settings["window"] = 10_000
        await wire.fail(WindowTooSmall, "yes, go on")
        wire.settings["window"] = 100_000
        assert wire.asked() == asked
        assert is_right(wire, await wire.ask("yes"))
