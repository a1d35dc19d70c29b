"""What teaches a habit, and what does not."""

from __future__ import annotations

import pytest
from openai_server import Reply, fail, openai_server, say
from wired import Wire

from deep_research.core.models.faults import Kind, kind_of

EFFORT = "Unknown parameter: reasoning_effort"


@pytest.mark.parametrize(
    ("refusal", "kind"), [(fail(400, EFFORT), "rejected"), (fail(404, EFFORT), "model"), (fail(500, EFFORT), "down")]
)
async def test_a_refusal_of_the_request_teaches_whatever_its_status(
    monkeypatch: pytest.MonkeyPatch, refusal: Reply, kind: Kind
) -> None:
    with openai_server([refusal, refusal, say("Yes.")]) as server:
        model = Wire(monkeypatch)(server)
        with pytest.raises(Exception) as caught:
            await model()
        assert kind_of(caught.value) == kind
        assert (await model(reasoning_effort="low")).text == "Yes."
    assert ["reasoning_effort" in request.json for request in server.requests] == [False, False, False]


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (fail(401, EFFORT), "key"),
        (fail(402, EFFORT), "quota"),
        (fail(429, EFFORT), "limited"),
        (fail(408, EFFORT), "slow"),
        (fail(400, f"{EFFORT}; maximum context length"), "long"),
        (fail(400, f"{EFFORT}; content filter"), "refused"),
        (fail(400, f"{EFFORT}; the model does not support tools"), "no_tools"),
    ],
)
async def test_other_trouble_teaches_nothing_whatever_it_quotes(
    monkeypatch: pytest.MonkeyPatch, refusal: Reply, kind: Kind
) -> None:
    with openai_server([refusal, say("Yes.")]) as server:
        model = Wire(monkeypatch)(server)
        with pytest.raises(Exception) as caught:
            await model(reasoning_effort="low")
        assert kind_of(caught.value) == kind
        assert (await model(reasoning_effort="low")).text == "Yes."
    assert ["reasoning_effort" in request.json for request in server.requests] == [True, True]
