"""Settings and limits of a run: how they are set, when they are reached, and how tasks share what
is left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from deep_research.core.records.research import NO_RUN, Spent, total
from deep_research.core.settings import server_settings
from deep_research.core.settings.context import ROLES, Context
from deep_research.core.settings.limits import Limits
from deep_research.core.settings.server_settings import UserSettings
from deep_research.nodes._budget import Budget


@pytest.mark.parametrize("settings", [Limits, Context])
def test_every_field_is_explained_and_unknown_ones_are_refused(settings: Any) -> None:
    properties = settings.model_json_schema()["properties"]
    assert all(entry.get("description") or entry.get("$ref") for entry in properties.values())
    with pytest.raises(ValidationError, match="nonsense"):
        settings(nonsense=1)
    with pytest.raises(ValidationError, match="frozen"):
        first = next(iter(properties))
        setattr(settings(), first, None)


@pytest.mark.parametrize("name", Limits.model_fields)
def test_no_limit_is_negative(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Limits.model_validate({name: -1})


def test_every_limit_can_be_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"writing_share": "0.5", "max_parallel_researchers": "7"}
    for name, default in Limits().model_dump().items():
        monkeypatch.setenv(f"DEEP_RESEARCH_{name.upper()}", values.get(name, "16000"))
        assert getattr(Limits(), name) != default
        assert getattr(Context().limits, name) != default


SPENDING = {
    "a": Spent(role="writer", input_tokens=100, cached_tokens=40, output_tokens=20),
    "b": Spent(role="internal_search", searches=2, tool_calls=1),
    "c": Spent(role="open_url", fetches=3, tool_calls=1),
    "d": Spent(role="planner", output_tokens=5, usd=0.5),
}


def test_spending_is_added_up_over_models_and_tools() -> None:
    tokens = {"input_tokens": 100, "cached_tokens": 40, "output_tokens": 25}
    assert total(SPENDING)._asdict() == {
        "calls": 2,
        **tokens,
        "searches": 2,
        "fetches": 3,
        "tool_calls": 2,
        "usd": 0.5,
    }
    assert total(SPENDING).tokens == 125


@pytest.mark.fault("R13")
@pytest.mark.parametrize(
    ("limits", "seconds", "words"),
    [
        ({}, 1800, ""),
        ({}, 1800.1, "max_seconds"),
        ({"max_tokens": 156}, 0, "max_tokens"),
        ({"max_tokens": 158}, 0, ""),
        ({"max_tokens": 125, "writing_share": 0}, 0, "125 of 125"),
        ({"max_searches": 2}, 0, "max_searches was reached (2 of 2)"),
        ({"max_searches": 3}, 0, ""),
        ({"max_fetches": 3}, 0, "max_fetches"),
        ({"max_tool_calls": 2}, 0, "max_tool_calls was reached (2 of 2)"),
        ({"max_usd": 0.62}, 0, "max_usd was reached ($0.50 of $0.62)"),
        ({"max_usd": 0.63}, 0, ""),
    ],
)
def test_the_reached_limit_is_named(limits: dict[str, Any], seconds: float, words: str) -> None:
    reached = Budget(Limits(**limits), SPENDING).limit_reached(seconds)
    assert words in reached
    assert bool(reached) == bool(words)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_tokens": 126, "max_usd": 0.51}, ""),
        ({"max_tokens": 125}, "max_tokens was reached (125 of 125)"),
        ({"max_usd": 0.5}, "max_usd was reached ($0.50 of $0.50)"),
        ({"max_searches": 1}, ""),
    ],
)
def test_a_budget_is_used_up_with_the_share_for_writing(limits: dict[str, Any], words: str) -> None:
    used_up = Budget(Limits(**limits), SPENDING).used_up()
    assert words in used_up
    assert bool(used_up) == bool(words)


def test_each_researcher_gets_an_equal_part_of_the_remaining_budget() -> None:
    limits = Limits(
        max_tokens=1000, max_searches=8, max_fetches=5, max_tool_calls=50, researcher_seconds=60
    )

    def allowed(limits: Limits, researchers: int) -> list[Any]:
        given = Budget(limits, SPENDING).shared_task_fields(NO_RUN, researchers)
        return [
            given[name]
            for name in ("seconds", "tokens", "searches", "fetches", "tool_calls", "usd")
        ]

    assert allowed(limits, 2) == [60, (800 - 125) // 2, 3, 1, 24, None]
    assert allowed(limits, 1) == [60, 675, 6, 2, 48, None]
    assert allowed(Limits(), 3) == [720, None, None, None, None, None]
    assert allowed(Limits(max_searches=2), 3)[2] == 1
    assert allowed(Limits(max_usd=2), 2)[-1] == pytest.approx((1.6 - 0.5) / 2)
    assert allowed(Limits(max_usd=0.1), 2)[-1] == 0


ONE = "openai:one"
OTHER = "openai:other"


@pytest.mark.parametrize(
    ("operator", "models"),
    [
        (ONE, {**dict.fromkeys(ROLES, ONE), "writer": OTHER}),
        ({"planner": ONE}, {"planner": ONE, "writer": OTHER}),
    ],
)
def test_a_role_for_which_a_user_chooses_no_model_has_that_of_the_operator(
    monkeypatch: pytest.MonkeyPatch, operator: str | Mapping[str, str], models: Mapping[str, str]
) -> None:
    monkeypatch.setenv(
        "DEEP_RESEARCH_MODELS", operator if isinstance(operator, str) else json.dumps(operator)
    )
    monkeypatch.setenv("DEEP_RESEARCH_ALLOW_MODELS", OTHER)
    server_settings._operator.cache_clear()
    try:
        assert UserSettings(models={"writer": OTHER}).context_of("").models == models
    finally:
        server_settings._operator.cache_clear()
