"""Models are found by name and environment, checked before any call, and priced."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from kit.model_calls import Wire
from kit.models import ScriptedChatModel
from kit.openai_server import fail, openai_server, say
from langchain_core.messages import AIMessageChunk

from deep_research.core.errors import (
    KeyRefused,
    UnknownModel,
    UnknownSetting,
    UserMistake,
    WindowTooSmall,
)
from deep_research.core.models._faults import explain, host_in
from deep_research.core.models.extractive.chat import ExtractiveChatModel
from deep_research.core.models.resolve import (
    RoleModels,
    cost_of,
    model_host,
    profile_of,
    resolve_model,
)
from deep_research.core.records.research import Spent
from deep_research.core.settings.context import Context, Price

Patch = pytest.MonkeyPatch

LOCAL = "http://127.0.0.1:1/v1"


def name_of(context: Context, role: Any = "planner") -> str:
    return profile_of(role, context).name


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({}, "extractive"),
        ({"OPENAI_API_KEY": "k"}, "gpt-5-mini"),
        ({"OPENAI_API_KEY": "k", "OPENAI_MODEL": "gpt-5.4"}, "gpt-5.4"),
        ({"OPENAI_BASE_URL": LOCAL, "OPENAI_MODEL": "qwen3:8b"}, "qwen3:8b"),
        ({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}, "extractive"),
        ({"OPENAI_API_KEY": " \n", "OPENAI_BASE_URL": " "}, "extractive"),
        ({"OPENAI_API_KEY": "k", "OPENAI_MODEL": " "}, "gpt-5-mini"),
    ],
)
def test_environment_variables_choose_the_model(
    monkeypatch: Patch, environment: dict[str, str], name: str
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert name_of(Context()) == name
    RoleModels(Context()).check(("planner",))


def test_each_role_can_have_its_own_model(monkeypatch: Patch) -> None:
    scripted = ScriptedChatModel(replies=[])
    context = Context(
        models={"writer": "openai:a/b:c", "planner": "extractive", "researcher": scripted}
    )
    monkeypatch.setenv("OPENAI_BASE_URL", LOCAL)
    assert name_of(context, "writer") == "a/b:c"
    assert isinstance(resolve_model("planner", context), ExtractiveChatModel)
    assert resolve_model("researcher", context) is scripted
    assert name_of(context, "orchestrator") == "gpt-5-mini"
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert isinstance(resolve_model("orchestrator", context), ExtractiveChatModel)


def test_the_profile_of_a_known_model_is_known(monkeypatch: Patch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert profile_of("planner", Context(models="openai:gpt-5-mini"))[1:5] == (
        272_000,
        True,
        True,
        True,
    )
    assert profile_of("planner", Context(models="openai:llama-4"))[1:5] == (
        128_000,
        False,
        False,
        None,
    )
    profile = profile_of(
        "planner", Context(models="openai:gpt-5-mini", window=60_000, reasoning=False)
    )
    assert profile[1:4] == (60_000, True, False)
    assert (
        "window of the model llama-4 is not known"
        in RoleModels(Context(models="openai:llama-4")).check(("planner",))[0]
    )


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        *(
            (name, True)
            for name in ("o9-mini", "openai/gpt-5-next", "gpt-oss:20b", "deepseek/deepseek-r1:free")
        ),
        *(
            (name, True)
            for name in (
                "DeepSeek-Reasoner",
                "QwQ-32B",
                "qwen3-4b-thinking-2507",
                "phi-4-mini-reasoning",
            )
        ),
        *(
            (name, False)
            for name in ("gpt-5.9-chat", "qwen3-4b-non-thinking", "gpt-4o", "r10b", "solo1")
        ),
    ],
)
def test_a_model_without_a_profile_is_known_to_reason_by_its_name(
    monkeypatch: Patch, name: str, reasons: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert profile_of("planner", Context(models=f"openai:{name}")).reasons is reasons
    assert (
        profile_of("planner", Context(models=f"openai:{name}", reasoning=not reasons)).reasons
        is not reasons
    )


async def test_a_blank_key_is_not_sent(monkeypatch: Patch, wire: Wire) -> None:
    model = wire([say("Yes.")])
    monkeypatch.setenv("OPENAI_API_KEY", " \n")
    monkeypatch.setenv("OPENAI_BASE_URL", f" {os.environ['OPENAI_BASE_URL']}\n")
    await model()
    assert model.requests[0].key == "none"


WITHOUT_KEY = ("", " ", "https://eu.api.openai.com/v1", "https://mine.openai.azure.com/openai/v1/")
INVALID = (
    "canary:8000/v1",
    "ftp://canary/v1",
    "http:///canary",
    "http://[canary",
    "http://canary:x/v1",
)
MALFORMED = ("sk-canary\u2019x", "sk-canary\u200b", "sk-canary x", "sk-canary\x07")


@pytest.mark.fault(24, 25, "R19")
@pytest.mark.parametrize(
    ("variable", "value", "error", "words"),
    [
        *(
            ("OPENAI_BASE_URL", url, KeyRefused, r"The model .* needs a key.*OPENAI_API_KEY")
            for url in WITHOUT_KEY
        ),
        *(("OPENAI_BASE_URL", url, UnknownSetting, "OPENAI_BASE_URL") for url in INVALID),
        *(
            ("OPENAI_API_KEY", key, KeyRefused, "OPENAI_API_KEY contains a character")
            for key in MALFORMED
        ),
    ],
)
def test_a_missing_or_malformed_key_and_an_invalid_address_are_refused_before_any_call_and_not_shown(
    monkeypatch: Patch, variable: str, value: str, error: type[UserMistake], words: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(error, match=words) as caught:
        RoleModels(Context(models="openai:gpt-5-mini")).check(("writer",))
    assert "canary" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("gpt-5", ["'openai:gpt-5'", "'extractive'"]),
        ("openai:", ["'openai:NAME'", "'extractive'"]),
        (":x", ["'openai:NAME'", "'extractive'"]),
        ('{"writer"', ["Broken JSON", '{"writer": "openai:NAME"}']),
        ('{"writer": "openai:x"', ["Broken JSON"]),
        ("llama3.2:3b", ["'openai:llama3.2:3b'", "unknown provider 'llama3.2'"]),
        ("anthropic:claude-x", ["pip install langchain-anthropic"]),
    ],
)
def test_an_unknown_model_name_is_answered_with_the_valid_forms(
    name: str, hints: list[str]
) -> None:
    pytest.importorskip("langchain")
    with pytest.raises(UnknownModel, match=r"setting models") as caught:
        RoleModels(Context(models=name)).check(("planner",))
    assert all(hint in str(caught.value) for hint in hints)


def test_other_providers_need_langchain(monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "langchain", None)
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(UnknownModel, match="make install EXTRAS=providers") as caught:
        RoleModels(Context(models="nosuch:x")).check(("planner",))
    assert "'nosuch' needs LangChain, which is not installed" in str(caught.value)


async def test_other_providers_are_called_through_langchain(monkeypatch: Patch) -> None:
    pytest.importorskip("langchain")
    context = Context(models="azure_openai:mine", window=60_000)
    with pytest.raises(KeyRefused, match="key of its provider"):
        RoleModels(context).check(("planner",))
    with openai_server([say("Yes."), fail(401), fail(500)]) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
        RoleModels(context).check(("planner",))
        model = resolve_model("planner", context)
        assert model is resolve_model("writer", context)
        whole = AIMessageChunk(content="")
        async for part in model.astream("What is known?"):
            whole += part
        assert whole.text == "Yes."
        with pytest.raises(Exception, match="401") as caught:
            await model.ainvoke("What is known?")
        with pytest.raises(Exception, match="500"):
            await model.ainvoke("What is known?")
        await model.root_async_client.close()  # type: ignore[attr-defined]  # Azure's own client, not ours
        assert model_host(model) == server.url.removeprefix("http://").removesuffix("/v1")
    assert len(server.requests) == 3
    assert server.requests[0].path.startswith("/openai/deployments/mine/chat/completions")
    assert isinstance(explain(caught.value, "The model 'mine'"), KeyRefused)


@pytest.mark.fault("R19")
def test_the_host_of_a_model_is_named_without_secrets(monkeypatch: Patch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:CANARY@127.0.0.1:8000/v1?key=CANARY")
    assert model_host(resolve_model("planner", Context(models="openai:fake-1"))) == "127.0.0.1:8000"
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert model_host(resolve_model("planner", Context(models="openai:fake-1"))) == "api.openai.com"
    assert model_host(ScriptedChatModel(replies=[])) == ""
    assert host_in("http://[canary") == host_in("") == ""


@pytest.mark.parametrize(
    ("window", "allowed", "fits"),
    [
        (50_000, False, True),
        (49_999, False, False),
        (49_999, True, True),
        (8_000, True, True),
        (7_999, True, False),
    ],
)
def test_small_windows_are_refused_unless_they_are_allowed(
    window: int, allowed: bool, fits: bool
) -> None:
    context = Context(window=window, allow_small_window=allowed)
    if fits:
        RoleModels(context).check(("planner",))
        return
    with pytest.raises(WindowTooSmall, match=f"reads {window} tokens") as caught:
        RoleModels(context).check(("planner",))
    assert ("allow_small_window" in str(caught.value)) is not allowed


@pytest.mark.parametrize(
    ("model", "prices", "reported", "usd"),
    [
        ("fake-1", {"fake-1": Price(1, 10)}, None, 2.0),
        ("fake-1", {"fake-1": Price(1, 10, 0.5)}, 9.0, 1.8),
        ("fake-1", {"fake-1": Price(1, 10, 0)}, None, 1.6),
        ("maker/fake-1", {"fake-1": Price(1, 10)}, None, 2.0),
        ("maker:fake-1", {"fake-1": Price(2, 0)}, None, 2.0),
        ("maker/fake-1", {"fake-1": Price(1, 10), "maker/fake-1": Price(0, 0)}, 9.0, 0.0),
        ("fake-1", {"other": Price(1, 10)}, 9.0, 9.0),
        ("fake-1", {}, None, 0.0),
    ],
)
def test_a_call_costs_what_prices_or_else_the_server_say(
    model: str, prices: Any, reported: Any, usd: float
) -> None:
    spent = Spent(
        role="writer", input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000
    )
    assert cost_of(model, spent, prices, reported) == pytest.approx(usd)
