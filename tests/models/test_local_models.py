"""A model that runs on this machine is offered where none is set, and never used unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Desk, desk_in
from web import ROUTES, Web, hostile_web

from deep_research import research
from deep_research.core.models.local import LocalModel, local_models

LIST = "/v1/models"
WHEN = "When was the Skerry Light lit?"


def listing(*names: str) -> str:
    return json.dumps({"object": "list", "data": [{"id": name, "object": "model", "created": 1} for name in names]})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_in(tmp_path)


@pytest.fixture
def web() -> Iterator[Web]:
    """A server on this machine with a model."""
    with hostile_web() as web:
        web.publish(LIST, listing("nomic-embed-text:latest", "llama3.2:3b"), content_type="application/json")
        yield web


def ports(web: Web) -> dict[str, str]:
    return {"DEEP_RESEARCH_MODEL_PORTS": str(web.port)}


def offer(web: Web) -> str:
    place = f"http://localhost:{web.port}"
    command = f"OPENAI_BASE_URL={place}/v1 deep-research ask QUESTION --model openai:llama3.2:3b"
    return f"A model is running at {place}; it is used only if you say so: {command}"


def test_who_asks_without_a_model_is_told_what_to_type_and_gets_a_report_without_it(desk: Desk, web: Web) -> None:
    ended = desk.call("ask", WHEN, "--docs", str(desk.docs), "--thread", "light", **ports(web))
    assert ended.code == 0
    assert f"Note: {offer(web)}\n" in ended.err
    assert "The Skerry Light was lit for the first time in 1844." in ended.out
    assert f"- {offer(web)}\n" in ended.out.replace("\\", "")
    assert [request.target for request in web.requests] == [LIST], "it is listed, not used"
    assert offer(web) in json.loads(desk.call("show", "light", "--format", "json").out)["notices"]


def test_the_doctor_offers_it_too(desk: Desk, web: Web) -> None:
    ended = desk.call("doctor", "--docs", str(desk.docs), **ports(web))
    assert ended.code == 0
    assert f"note     model on this machine: {offer(web)}\n" in ended.out


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (("--model", "extractive"), {}),
        ((), {"DEEP_RESEARCH_MODELS": "extractive"}),
        ((), {"OPENAI_API_KEY": "k"}),
        ((), {"OPENAI_BASE_URL": "http://localhost:1/v1"}),
    ],
)
def test_whoever_has_chosen_a_model_is_offered_none_and_nothing_is_asked(
    desk: Desk, web: Web, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    ended = desk.call("doctor", "--docs", str(desk.docs), *options, **environment, **ports(web))
    assert "A model is running" not in ended.out
    assert not web.requests


def test_an_app_and_a_server_look_for_no_models(desk: Desk, web: Web) -> None:
    answer = research(WHEN, docs=[desk.docs], data_dir=desk.data, model_ports=[web.port])
    assert "1844" in answer.markdown
    assert not web.requests


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("<html>It works!</html>", 200),
        ("[" * 100_000, 200),
        (b"\xff\xfe", 200),
        ("{}", 200),
        ("[]", 200),
        (json.dumps({"object": "list", "data": None}), 200),
        (json.dumps({"data": [{"id": "page"}]}), 200),
        (json.dumps({"object": "list", "data": [{"name": "page"}]}), 200),
        (listing(), 200),
        (listing("nomic-embed-text"), 200),
        (listing("x; rm -rf ~", "-x", "a\nb", "$(id)", "[a](http://b)"), 200),
        (listing("m" * 2_000_000), 200),
        (listing("llama3.2"), 401),
        (listing("llama3.2"), 404),
    ],
)
async def test_what_is_no_list_of_models_is_not_taken_for_one(web: Web, body: str | bytes, status: int) -> None:
    web.publish(LIST, body, status, content_type="application/json")
    assert await local_models([web.port]) == []


@pytest.mark.parametrize("route", ["/silence", "/drip-headers", "/drip-body", "/endless", "/crumbs", "/babble"])
async def test_a_server_that_does_not_come_to_an_end_is_left_alone(web: Web, route: str) -> None:
    web.pages[LIST] = ROUTES[route]
    assert await local_models([web.port], seconds=0.1) == []


async def test_no_redirect_is_followed(web: Web) -> None:
    moved = web.publish("/elsewhere", listing("llama3.2"), content_type="application/json")
    web.publish(LIST, "", 302, location=moved)
    assert await local_models([web.port]) == []
    assert not web.asked("/elsewhere")


async def test_each_server_is_named_with_its_first_model_in_the_order_of_the_ports(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with hostile_web() as other, hostile_web() as empty:
        other.publish(LIST, listing("org/model-8B@q4", "second"))
        found = await local_models([empty.port, other.port, web.port, other.port], seconds=30)
    assert found == [LocalModel(other.port, "org/model-8B@q4"), LocalModel(web.port, "llama3.2:3b")]
    assert await local_models([other.port]) == [], "nobody listens there any more"
