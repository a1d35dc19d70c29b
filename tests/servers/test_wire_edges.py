"""Whole runs at the edges: a server that counts nonsense, a model that has learned a secret, an answer without end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from openai_server import Received, Reply
from wire import Wires, is_right

from deep_research.core.run.spending import total


@pytest.mark.fault(22)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("responses_api", [False, True])
@pytest.mark.parametrize("count", [float("nan"), float("inf"), -5, 10**30, "many", None])
async def test_counts_that_are_none_are_estimated_and_end_no_run(wires: Wires, count: Any, responses_api: bool) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count, "cost": count}
    nested = {"prompt_tokens_details": {"cached_tokens": count}}

    def counted(reply: Reply, _: Received) -> Reply:
        return replace(reply, usage={**usage, **nested})

    with wires(habit=counted, responses_api=responses_api) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        spent = total(state.spending)
        read = sum(len(request.prompt) for request in wire.requests()) // 4
        assert 0.8 * read < spent.input_tokens < 1.6 * read
        assert (spent.output_tokens > 50, spent.cached_tokens, spent.usd) == (True, 0, 0)
