"""Whole runs at the edges: a server that counts nonsense, a model that has learned a secret, an answer without end."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from kit.engines import Answer, found
from kit.mcp import foreign_server, served
from kit.openai_server import Received, Reply, say, use
from kit.wire import END, FACTS, Wires, hand_out, is_right, open_pages, search_for

from deep_research.core.run.spending import total

KEY, PASSWORD, TOKEN = "gannet/rock+0123456789==", "kittiwakes-of-1844", "b3f0c2d49a77e1"
"""Configured secrets, all of a fake."""


@pytest.mark.fault(22)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("responses_api", [False, True])
@pytest.mark.parametrize("count", [float("nan"), float("inf"), -5, 10**30, "many", None])
async def test_invalid_token_counts_are_replaced_by_estimates(wires: Wires, count: Any, responses_api: bool) -> None:
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


@pytest.mark.fault("R18")
async def test_a_secret_of_the_settings_reaches_no_query_address_argument_or_report(
    wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHT_API_KEY", KEY)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "The Skerry Light")
    monkeypatch.setenv("LIGHT_DATABASE", f"postgresql://keeper:{PASSWORD}@db/light")
    called = list[str]()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with served(foreign_server(called)) as url, wires(mcp={"lights": {"url": url, "headers": headers}}) as wire:
        leak = wire.web.publish(f"/log?k={quote(KEY, safe='')}", FACTS["light"])
        forms = [KEY, quote(KEY, safe=""), b64encode(KEY.encode()).decode(), PASSWORD, TOKEN.upper()]
        acts = [
            *(search_for(f"who uses {form}") for form in forms),
            use(("lights_look_up", {"light": f"that of {KEY}"})),
            search_for("light"),
            open_pages(leak),
            END,
        ]
        written = say(f"The key is {KEY}, the password {PASSWORD}. {FACTS['light']} [1]")
        wire.engine.on("light", Answer([found(leak, "Log", FACTS["light"])]))
        wire.script |= {"researcher": acts, "writer": [written] * 2, "orchestrator": [hand_out("light"), END]}
        state = await wire.ask()
        [finding] = state.findings.values()
        refused = [
            action for action in finding.actions if any("which is never sent" in words for words in action.problems)
        ]
        sent = " ".join([*wire.engine.queries, *(request.target for request in wire.web.requests)]).lower()
    assert len(refused) == len(forms) + 2, "the model was told why, each time"
    assert not called
    assert [form for form in forms if form.lower() in sent] == []
    shown = "".join(packet["content"] for packet in wire.of_type("message_delta"))
    for text in (shown, state.messages[-1].text):
        assert "The key is ***, the password ***." in text
    assert KEY not in repr(wire.of_type("message_delta", "report_revised")) + repr(state.report)
