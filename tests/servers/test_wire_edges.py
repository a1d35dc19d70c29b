"""A whole run with a model that has learned secrets of the settings."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import quote

import pytest
from kit.engines import Answer, found
from kit.mcp import foreign_server, served
from kit.openai_server import say, use
from kit.wire import END, FACTS, Wires, hand_out, open_pages, search_for

KEY, PASSWORD, TOKEN = "gannet/rock+0123456789==", "kittiwakes-of-1844", "b3f0c2d49a77e1"
"""Configured secrets, all of a fake."""


@pytest.mark.fault("R18")
async def test_a_secret_of_the_settings_reaches_no_query_address_argument_or_report(
    wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHT_API_KEY", KEY)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "The Skerry Light")
    monkeypatch.setenv("LIGHT_DATABASE", f"postgresql://keeper:{PASSWORD}@db/light")
    called = list[str]()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        served(foreign_server(called)) as url,
        wires(mcp={"lights": {"url": url, "headers": headers}}) as wire,
    ):
        leak = wire.web.publish(f"/log?k={quote(KEY, safe='')}", FACTS["light"])
        forms = [
            KEY,
            quote(KEY, safe=""),
            b64encode(KEY.encode()).decode(),
            PASSWORD,
            TOKEN.upper(),
        ]
        acts = [
            *(search_for(f"who uses {form}") for form in forms),
            use(("lights_look_up", {"light": f"that of {KEY}"})),
            search_for("light"),
            open_pages(leak),
            END,
        ]
        written = say(f"The key is {KEY}, the password {PASSWORD}. {FACTS['light']} [1]")
        wire.engine.on("light", Answer([found(leak, "Log", FACTS["light"])]))
        wire.script |= {
            "researcher": acts,
            "writer": [written] * 2,
            "orchestrator": [hand_out("light"), END],
        }
        state = await wire.ask()
        [finding] = state.findings.values()
        refused = [
            action
            for action in finding.actions
            if any("which is never sent" in words for words in action.problems)
        ]
        sent = " ".join(
            [*wire.engine.queries, *(request.target for request in wire.web.requests)]
        ).lower()
    assert len(refused) == len(forms) + 2, "the model was told why, each time"
    assert not called
    assert [form for form in forms if form.lower() in sent] == []
    shown = "".join(packet["content"] for packet in wire.of_type("message_delta"))
    for text in (shown, state.messages[-1].text):
        assert "The key is ***, the password ***." in text
    assert KEY not in repr(wire.of_type("message_delta", "report_revised")) + repr(state.report)
