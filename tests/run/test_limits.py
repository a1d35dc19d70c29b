"""The numbers of a run: their defaults, their bounds, what remains of them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from deep_research.core.records.research import Spent
from deep_research.core.run.context import Context
from deep_research.core.run.limits import Limits
from deep_research.core.run.spending import Allowance, allowance, limit_reached, total

DEFAULTS = {
    "max_cycles": 8,
    "max_cycles_reasoning": 4,
    "max_parallel_researchers": 3,
    "max_iterations": 8,
    "max_thinks": 2,
    "max_mistakes": 2,
    "max_repeats": 2,
    "max_plan_steps": 6,
    "max_seconds": 1800,
    "max_seconds_planned": 300,
    "max_step_iterations": 5,
    "max_follow_ups": 2,
    "max_analysis_follow_ups": 3,
    "max_elements": 20,
    "memory_tokens": 12_000,
    "researcher_seconds": 720,
    "researcher_seconds_hard": 1800,
    "tool_seconds": 600,
    "idle_seconds": 60,
    "report_idle_seconds": 300,
    "writing_share": 0.2,
    "max_tokens": None,
    "max_tool_calls": None,
    "max_searches": None,
    "max_fetches": None,
    "max_usd": None,
    "decision_tokens": 1024,
    "form_tokens": 4096,
    "reasoning_tokens": 8192,
    "finding_tokens": 10_000,
    "report_tokens": 20_000,
    "max_continuations": 4,
    "max_sections": 10,
    "max_opinions": 24,
    "max_rewrites": 2,
    "min_window": 50_000,
    "context_messages": 5,
    "question_characters": 32_000,
    "max_queries": 3,
    "max_results": 25,
    "max_open": 10,
    "page_characters": 3_000,
    "pages_characters": 30_000,
    "whole_characters": 30_000,
    "results_tokens": 20_000,
    "max_document_bytes": 50_000_000,
    "max_documents": 200_000,
    "parse_seconds": 15,
    "heartbeat_seconds": 15,
    "call_seconds": 900,
    "max_retries": 2,
    "retry_seconds": 60,
    "search_seconds": 20,
    "max_web_results": 20,
    "query_characters": 400,
    "max_unseen_characters": 240,
    "max_pages": 60,
    "max_host_pages": 10,
    "max_redirects": 5,
    "connect_seconds": 5,
    "page_seconds": 20,
    "max_page_bytes": 2_000_000,
    "max_pdf_bytes": 20_000_000,
}
LEAST = {"decision_tokens": 16, "form_tokens": 16, "finding_tokens": 16, "report_tokens": 16, "page_characters": 200}
LEAST |= {
    "max_cycles": 2,
    "max_cycles_reasoning": 2,
    "pages_characters": 200,
    "max_continuations": 0,
    "max_opinions": 0,
    "whole_characters": 0,
    "max_rewrites": 0,
    "max_follow_ups": 0,
    "max_analysis_follow_ups": 0,
    "writing_share": 0,
    "max_retries": 0,
    "reasoning_tokens": 0,
    "retry_seconds": 0,
    "max_redirects": 0,
    "query_characters": 10,
    "max_unseen_characters": 0,
    "max_page_bytes": 1000,
    "max_pdf_bytes": 1000,
}
ABOVE_ZERO = {name for name in DEFAULTS if name.endswith("_seconds") or name.startswith("researcher_seconds")}
ABOVE_ZERO |= {
    "max_seconds",
    "max_seconds_planned",
    "max_tokens",
    "max_tool_calls",
    "max_searches",
    "max_fetches",
    "max_usd",
}
ABOVE_ZERO -= {"retry_seconds"}


def test_the_defaults_are_those_of_the_specification() -> None:
    assert Limits().model_dump() == DEFAULTS


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_each_limit_has_its_least_value(name: str) -> None:
    least: Any = LEAST.get(name, 1)
    step = 0.5 if name in ABOVE_ZERO and name.endswith(("seconds", "hard", "planned")) else 1
    if name in ABOVE_ZERO:
        least, step = step, step
    assert getattr(Limits(**{name: least}), name) == least
    with pytest.raises(ValidationError):
        Limits(**{name: least - step})


def test_a_limit_has_its_greatest_value_where_more_makes_no_sense() -> None:
    assert Limits(max_parallel_researchers=20).max_parallel_researchers == 20
    with pytest.raises(ValidationError):
        Limits(max_parallel_researchers=21)
    with pytest.raises(ValidationError):
        Limits(writing_share=1)


@pytest.mark.parametrize("settings", [Limits, Context])
def test_every_field_is_explained_and_unknown_ones_are_refused(settings: Any) -> None:
    properties = settings.model_json_schema()["properties"]
    assert all(entry.get("description") or entry.get("$ref") for entry in properties.values())
    with pytest.raises(ValidationError, match="nonsense"):
        settings(nonsense=1)
    with pytest.raises(ValidationError, match="frozen"):
        first = next(iter(properties))
        setattr(settings(), first, None)


def test_every_limit_can_be_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in DEFAULTS.items():
        monkeypatch.setenv(f"DEEP_RESEARCH_{name.upper()}", "0.5" if name == "writing_share" else "16000")
        if name == "max_parallel_researchers":
            monkeypatch.setenv("DEEP_RESEARCH_MAX_PARALLEL_RESEARCHERS", "7")
        assert getattr(Limits(), name) != value
        assert getattr(Context().limits, name) != value


SPENDING = {
    "a": Spent(role="writer", input_tokens=100, cached_tokens=40, output_tokens=20),
    "b": Spent(role="internal_search", searches=2, tool_calls=1),
    "c": Spent(role="open_url", fetches=3, tool_calls=1),
    "d": Spent(role="planner", output_tokens=5, usd=0.5),
}


def test_spending_is_added_up_over_models_and_tools() -> None:
    assert total(SPENDING)._asdict() == {
        "calls": 2,
        "input_tokens": 100,
        "cached_tokens": 40,
        "output_tokens": 25,
        "searches": 2,
        "fetches": 3,
        "tool_calls": 2,
        "usd": 0.5,
    }
    assert total(SPENDING).tokens == 125
    assert total({}).tokens == 0


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
        ({"max_fetches": 4}, 0, ""),
        ({"max_tool_calls": 2}, 0, "max_tool_calls was reached (2 of 2)"),
        ({"max_tool_calls": 3}, 0, ""),
        ({"max_usd": 0.62}, 0, "max_usd was reached ($0.50 of $0.62)"),
        ({"max_usd": 0.63}, 0, ""),
    ],
)
def test_a_limit_that_is_reached_is_named(limits: dict[str, Any], seconds: float, words: str) -> None:
    reached = limit_reached(Limits(**limits), SPENDING, seconds)
    assert words in reached
    assert bool(reached) == bool(words)


def test_each_researcher_gets_its_part_of_what_remains_without_the_share_for_writing() -> None:
    limits = Limits(max_tokens=1000, max_searches=8, max_fetches=5, max_tool_calls=50, researcher_seconds=60)
    assert allowance(limits, SPENDING, 2) == Allowance(60, (800 - 125) // 2, 3, 1, 24, None)
    assert allowance(limits, SPENDING, 1) == Allowance(60, 675, 6, 2, 48, None)
    assert allowance(Limits(), SPENDING, 3) == Allowance(720, None, None, None, None, None)
    assert allowance(Limits(max_searches=2), SPENDING, 3).searches == 1
    assert allowance(Limits(max_usd=2), SPENDING, 2).usd == pytest.approx((1.6 - 0.5) / 2)
    assert allowance(Limits(max_usd=0.1), SPENDING, 2).usd == 0
