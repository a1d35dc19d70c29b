"""A model with a small window takes part where that is allowed, with everything cut shorter."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from lab import lab
from langchain_core.messages import AnyMessage

from deep_research.run.errors import WindowTooSmall
from deep_research.run.limits import Limits
from deep_research.run.transcripts import tokens_of


def test_what_is_read_and_written_shrinks_with_the_window() -> None:
    limits = Limits()
    assert limits.shortened(50_000) is limits
    short = limits.shortened(8_000)
    assert (short.decision_tokens, short.finding_tokens, short.report_tokens) == (1000, 1600, 3200)
    assert (short.page_characters, short.pages_characters) == (2400, 10_666)
    assert (short.max_results, short.max_web_results, short.max_open) == (4, 3, 2)
    assert short.max_cycles == limits.max_cycles


async def test_a_small_window_is_kept_to_in_every_call(tmp_path: Path) -> None:
    run = lab(tmp_path, profile={"max_input_tokens": 8_000}, allow_small_window=True)
    state = await run.ask()
    assert state.report and state.report.sources
    for model in run.models.values():
        for call in model.calls:
            assert tokens_of(cast(list[AnyMessage], call.messages)) + call.settings.get("max_tokens", 0) <= 8_000
    assert [call.settings.get("max_tokens") for call in run.calls("writer")] == [3200]


async def test_a_small_window_is_refused_where_it_is_not_allowed(tmp_path: Path) -> None:
    with pytest.raises(WindowTooSmall, match="allow_small_window"):
        await lab(tmp_path, profile={"max_input_tokens": 8_000}).ask()
