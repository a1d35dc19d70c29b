"""A model with a small window takes part where that is allowed, with everything cut shorter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from lab import lab
from langchain_core.language_models import ModelProfile
from langchain_core.messages import AnyMessage
from openai_replies import Reply, fail
from openai_server import Received
from search_api import Answer, found
from wire import FACTS, is_right, wire_lab

from deep_research.core.run.transcripts import tokens_of


@pytest.mark.parametrize("reasons", [False, True])
async def test_a_small_window_is_kept_to_in_every_call(tmp_path: Path, reasons: bool) -> None:
    profile = ModelProfile(max_input_tokens=8_000, reasoning_output=reasons)
    run = lab(tmp_path, profile=profile, allow_small_window=True)
    state = await run.ask()
    assert state.report and state.report.sources
    for model in run.models.values():
        for call in model.calls:
            assert tokens_of(cast(list[AnyMessage], call.messages)) + call.settings.get("max_tokens", 0) <= 8_000
    assert [call.settings.get("max_tokens") for call in run.calls("writer")] == [4200 if reasons else 3200]


@pytest.mark.parametrize("reasons", [False, True])
async def test_a_server_with_a_small_window_is_never_asked_for_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reasons: bool
) -> None:
    """It counts what the answer may take, as servers do; each researcher finds more than fits."""
    window, over = 8_000, list[int]()

    def counting(reply: Reply, request: Received) -> Reply:
        most = request.json.get("max_tokens", 0)
        used = len(json.dumps([request.messages, request.json.get("tools", [])])) // 4
        if used + most <= window:
            return reply
        over.append(used + most)
        return fail(400, f"maximum context length is {window} tokens", code="context_length_exceeded")

    small: dict[str, Any] = {"window": window, "allow_small_window": True, "reasoning": reasons, "small": "off"}
    with wire_lab(tmp_path, monkeypatch, habit=counting, **small) as wire:
        for name, fact in FACTS.items():
            pages = [found(wire.web.url(f"/{name}/{n}"), name, "Wind. " * 300) for n in range(3)]
            wire.engine.on(name, Answer([found(wire.web.url(f"/{name}"), name, fact), *pages]))
        assert is_right(wire, await wire.ask())
        assert over == []
