"""How a model calls tools is found out once per server, and stored in a file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel
from kit.openai_server import OpenAIServer, Received, Reply, fail, openai_server, say, use

from deep_research.core.models.abilities import (
    Location,
    ability_of,
    load_ability,
    location_of,
    remember_ability,
    save_ability,
)
from deep_research.core.models.caller import Caller
from deep_research.core.models.ladder.rungs import Ability
from deep_research.core.models.quirks import ModelTraits
from deep_research.core.models.resolve import resolve_model
from deep_research.core.models.retries import retry_budget_of
from deep_research.core.run.context import Context
from deep_research.core.run.events.call import CallEvents
from deep_research.core.run.events.log import Emitter
from deep_research.core.run.events.packets import Placement

Patch = pytest.MonkeyPatch
CALL = use(("save_word", {"word": "amber"}))
NOTHING_LEARNED: dict[str, Any] = {**Ability()._asdict(), "quirks": []}
TEXT = say('<tool name="save_word">{"word": "amber"}</tool>')


def caller(folder: Path, **settings: Any) -> Caller:
    context = Context(**{"models": "openai:fake-1", "data_dir": folder, **settings})
    events = CallEvents(Emitter(lambda _: None), Placement(turn_index=0))
    return Caller("researcher", context, retry_budget_of("q", context.limits), events)


def only_text(request: Received) -> Reply:
    """A server without tool calls and schemas, whose model writes tags."""
    if request.json.get("tools"):
        return fail(400, "fake-1 does not support tools")
    return fail(400, "response_format is not supported") if "response_format" in request.json else TEXT


def led_to(server: OpenAIServer, monkeypatch: Patch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


async def test_a_model_is_tried_once_by_all_who_ask_at_the_same_time(tmp_path: Path, monkeypatch: Patch) -> None:
    with openai_server(only_text) as server:
        led_to(server, monkeypatch)
        found = await asyncio.gather(*(ability_of(caller(tmp_path), may_try=True, has_tools=True) for _ in range(3)))
        assert [ability.rung for ability in found] == ["tags"] * 3
        assert len(server.requests) == 3, "one for each of the rungs native, schema, tags"
        assert await ability_of(caller(tmp_path / "elsewhere"), may_try=True, has_tools=True) == found[0]
        assert len(server.requests) == 6, "another folder knows nothing"


async def test_nothing_is_tried_where_no_tools_are_needed_or_all_is_known(tmp_path: Path, monkeypatch: Patch) -> None:
    with openai_server([]) as server:
        led_to(server, monkeypatch)
        described = {"models": "openai:gpt-5-mini"}
        instance = {"models": ScriptedChatModel(replies=[])}
        for settings, may_try, rung in (
            ({}, False, "native"),
            ({"tool_calls": "tags"}, True, "tags"),
            (instance, True, "native"),
            (described, True, "native"),
        ):
            asked = caller(tmp_path, **settings)
            assert (await ability_of(asked, may_try=may_try, has_tools=True)).rung == rung
        assert server.requests == []


async def test_what_was_found_is_kept_under_the_model_its_server_and_the_way_that_was_set(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:secret@local.example:8000/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    inside = Ability("schema", begins_inside=True, reasons=True)
    await remember_ability("writer", caller(tmp_path).context, inside)
    await remember_ability("writer", caller(tmp_path, tool_calls="tags").context, Ability("tags", begins_inside=True))
    kept = json.loads((tmp_path / "models.json").read_text("utf-8"))
    assert kept == {
        "fake-1 at local.example:8000": {**NOTHING_LEARNED, "rung": "schema", "begins_inside": True, "reasons": True},
        "fake-1 at local.example:8000 by tags": {**NOTHING_LEARNED, "rung": "tags", "begins_inside": True},
    }
    assert await ability_of(caller(tmp_path), may_try=False, has_tools=True) == inside
    assert await ability_of(caller(tmp_path, tool_calls="schema"), may_try=False, has_tools=True) == Ability("schema")


async def test_what_several_find_out_at_once_is_all_kept(tmp_path: Path) -> None:
    locations = [Location(tmp_path / "models.json", f"model {number}") for number in range(20)]
    await asyncio.gather(*(save_ability(location, Ability("tags")) for location in locations))
    kept = json.loads((tmp_path / "models.json").read_text("utf-8"))
    assert kept == {location.model: {**NOTHING_LEARNED, "rung": "tags"} for location in locations}
    assert [path.name for path in tmp_path.iterdir()] == ["models.json"]


@pytest.mark.parametrize(
    "text",
    ["", "no JSON", "[1]", '{"m": 1}', '{"m": {"rung": "gone"}}', '{"m": {"rung": "tags", "new": 1}}', '{"m": {}}'],
)
async def test_an_unreadable_file_is_no_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "models.json").write_text(text, "utf-8")
    assert await load_ability(Location(tmp_path / "models.json", "m")) is None


async def test_what_was_learned_about_a_server_is_known_before_the_first_call(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    with openai_server([]) as server:
        led_to(server, monkeypatch)
        asked = caller(tmp_path)
        model = resolve_model("researcher", asked.context)
        kept = Ability(quirks=("single_calls", "turns"), output_tokens=8192)
        await save_ability(location_of(model, "researcher", asked.context), kept)
        assert await ability_of(asked, may_try=True, has_tools=True) == kept
        assert model.learned == ModelTraits(frozenset(kept.quirks), 8192)  # type: ignore[attr-defined]  # ours alone learn
