"""Each fault of a model's server becomes one helpful line without secrets."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import certifi
import pytest
from kit.model_calls import KEY, Wire, error_at, error_of, explained
from kit.openai_server import Received, Reply, fail, openai_server, say, send
from langchain_core.messages import HumanMessage

from deep_research.core.models.caller import timed_parts
from deep_research.core.models.faults import (
    AnswerSilent,
    asks_to_wait,
    is_transient,
    kind_of,
    retry_after,
    retry_reason,
)
from deep_research.core.models.resolve import resolve_model
from deep_research.core.run.errors import (
    ContentRefused,
    DeepResearchError,
    KeyRefused,
    ModelFailed,
    ModelMissing,
    PromptTooLong,
    RateLimited,
    UserMistake,
)
from deep_research.core.run.limits import Limits
from deep_research.core.run.network import trusted_certificates


def echo(received: Received) -> Reply:
    return fail(401, f"Incorrect API key provided: {received.key}. Bearer {received.key}", code="invalid_api_key")


@pytest.mark.fault(24, "R19")
@pytest.mark.parametrize("responses_api", [False, True])
async def test_a_wrong_key_is_named_by_its_setting_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, responses_api: bool
) -> None:
    with openai_server(echo) as server:
        error = await error_at(server.url, monkeypatch, responses_api=responses_api)
    ours = explained(error)
    assert type(ours) is KeyRefused
    assert isinstance(ours, UserMistake)
    assert "OPENAI_API_KEY" in str(ours)
    assert not is_transient(error)
    assert len(server.requests) == 1


@pytest.mark.fault(24)
@pytest.mark.parametrize(
    ("reply", "kind", "names"),
    [
        (fail(403, f"No access with {KEY}"), KeyRefused, "OPENAI_API_KEY"),
        (fail(400, "API key not valid. Please pass a valid API key."), KeyRefused, "OPENAI_API_KEY"),
        (fail(429, "You exceeded your quota", code="insufficient_quota"), KeyRefused, "credit"),
        (fail(402, "Payment required"), KeyRefused, "credit"),
        (fail(404, f"The model `{KEY}` does not exist", code="model_not_found"), ModelMissing, "models"),
        (fail(404, "404 page not found"), ModelMissing, "OPENAI_BASE_URL"),
        (fail(400, "fake-1 is not a valid model ID"), ModelMissing, "models"),
        (fail(403, "Project does not have access", code="model_not_found"), ModelMissing, "models"),
    ],
)  # fmt: skip
async def test_a_mistake_in_the_settings_is_named(
    monkeypatch: pytest.MonkeyPatch, reply: Reply, kind: type[UserMistake], names: str
) -> None:
    error = await error_of(reply, monkeypatch)
    ours = explained(error)
    assert type(ours) is kind
    assert names in str(ours)
    assert not is_transient(error)


@pytest.mark.fault(9, 10)
@pytest.mark.parametrize(
    "reply",
    [
        Reply(refusal=f"I cannot, {KEY}."),
        Reply(refusal=f"I cannot, {KEY}.", streams=False),
        say("It was", finish="content_filter"),
        say("It was", finish="content_filter", streams=False),
        fail(400, "The response was filtered due to Azure's content management policy.", code="content_filter"),
        fail(403, "Your chosen model requires moderation and your input was flagged"),
    ],
)
async def test_a_refusal_is_reported_as_one(monkeypatch: pytest.MonkeyPatch, reply: Reply) -> None:
    error = await error_of(reply, monkeypatch)
    assert type(explained(error)) is ContentRefused
    assert not is_transient(error)


TOO_LONG = [
    (400, "This model's maximum context length is 4096 tokens. However, your messages have 5000 tokens.", "4096"),
    (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", "4096"),
    (400, "max_tokens=900 cannot be greater than max_model_len=4096", "4096"),
    (400, "the input length exceeds the context length", ""),
    (400, "prompt too long; exceeded max context length by 900 tokens", ""),
    (400, "the request exceeds the available context size (4096 tokens), try increasing it", "4096"),
    (500, "Requested tokens (5000) exceed context window of 4096", "4096"),
    (400, "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context "
     "length of only 4096 tokens", "4096"),
    (400, "The number of tokens to keep from the initial prompt is greater than the context length", ""),
    (400, "This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens", "4096"),
    (400, "prompt is too long: 210000 tokens > 200000 maximum", ""),
    (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", ""),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "1048576"),
    (400, "Please reduce the length of the messages or completion.", ""),
    (413, "Payload Too Large", ""),
    (429, "Request too large for gpt-x on tokens per min (TPM): Limit 10000, Requested 20000.", ""),
]  # fmt: skip


@pytest.mark.fault(20)
@pytest.mark.parametrize(
    ("reply", "window"),
    [
        *((fail(status, words), window) for status, words, window in TOO_LONG),
        (fail(400, "Sorry.", code="context_length_exceeded"), ""),
        (send({"error": {"message": "no", "type": "exceed_context_size_error", "n_ctx": 4096}}, status=400), None),
    ],
)
async def test_a_prompt_that_does_not_fit_is_known_by_many_wordings(
    monkeypatch: pytest.MonkeyPatch, reply: Reply, window: str | None
) -> None:
    error = await error_of(reply, monkeypatch)
    ours = explained(error)
    assert type(ours) is PromptTooLong
    assert not is_transient(error)
    assert "window" in str(ours)
    assert window is None or (f": {window} tokens" in str(ours)) is bool(window)


NO_TOOLS = [
    (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (404, "No endpoints found that support tool use. Try disabling \"look\"."),
    (400, "`tool calling` is not supported with this model"),
    (400, "Function calling is not enabled for models/gemma-3"),
    (400, "fake-1 does not support Function Calling"),
]  # fmt: skip


@pytest.mark.fault(21)
@pytest.mark.parametrize(("status", "words"), NO_TOOLS)
async def test_a_model_without_tool_calling_is_known_by_many_wordings(
    monkeypatch: pytest.MonkeyPatch, status: int, words: str
) -> None:
    error = await error_of(fail(status, words), monkeypatch)
    assert kind_of(error) == "no_tools"
    assert not is_transient(error)
    assert "tool_calls" in str(explained(error))


@pytest.mark.fault(2)
async def test_a_long_wait_is_stated_in_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    error = await error_of(fail(429, "Slow down.", retry_after=3600), monkeypatch)
    assert type(explained(error)) is RateLimited
    assert "retry after 60 min" in str(explained(error))
    assert "retry_seconds" in str(explained(error))
    assert asks_to_wait(error)


@pytest.mark.fault(3, 4)
@pytest.mark.parametrize(
    ("reply", "kind", "has_to_wait"),
    [
        (fail(429, "Slow down."), RateLimited, True),
        (fail(500), ModelFailed, False),
        (fail(503), ModelFailed, False),
        (fail(503, retry_after=2), ModelFailed, True),
        (fail(529, "Overloaded"), ModelFailed, True),
        (fail(408), ModelFailed, False),
        (send({"error": {"message": "Provider returned error", "code": 429}}), RateLimited, True),
        (send({"error": {"message": "Provider returned error", "code": 502}}), ModelFailed, False),
        (send({"error": "Rate limit reached"}), RateLimited, True),
        (send('data: {"error": {"message": "boom", "code": 503}}\n\n', content_type="text/event-stream"), ModelFailed,
         False),
    ],
)  # fmt: skip
async def test_trouble_of_the_server_may_pass(
    monkeypatch: pytest.MonkeyPatch, reply: Reply, kind: type[DeepResearchError], has_to_wait: bool
) -> None:
    error = await error_of(reply, monkeypatch)
    assert type(explained(error)) is kind
    assert is_transient(error)
    assert asks_to_wait(error) is has_to_wait
    assert retry_reason(error)


@pytest.mark.fault(5, 6, 22)
@pytest.mark.parametrize(
    "reply",
    [
        say("It was lit in 1844.", ending="reset"),
        say("It was lit in 1844.", ending="broken"),
        say("It was lit in 1844.", ending="cut"),
        send({"choices": []}),
        send("<html>Sign in</html>", content_type="text/html"),
        send({"error": {"message": f"boom {KEY}"}}),
    ],
)
async def test_broken_answers_may_come_whole_the_next_time(monkeypatch: pytest.MonkeyPatch, reply: Reply) -> None:
    error = await error_of(reply, monkeypatch)
    assert type(explained(error)) is ModelFailed
    assert is_transient(error)
    assert not asks_to_wait(error)
    assert "OPENAI_BASE_URL" in str(explained(error))


@pytest.mark.fault("R19")
async def test_a_server_that_is_not_there_is_named_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = await error_at(f"http://user:{KEY}@127.0.0.1:{port}/v1", monkeypatch)
    assert type(explained(error)) is ModelFailed
    assert f"127.0.0.1:{port}" in str(explained(error))
    assert "OPENAI_BASE_URL" in str(explained(error))
    assert is_transient(error)


@pytest.mark.fault(7)
@pytest.mark.parametrize("reply", [say("Yes.", wait=9), say("It was lit in 1844.", ending="stall")])
@pytest.mark.parametrize("limit", ["idle_seconds", "report_idle_seconds"])
async def test_a_connection_that_goes_silent_is_given_up(
    monkeypatch: pytest.MonkeyPatch, reply: Reply, limit: str
) -> None:
    with openai_server([reply]) as server:
        context = Wire(monkeypatch)(server, limits=Limits.model_validate({limit: 0.1})).context
        model, is_long = resolve_model("planner", context), limit == "report_idle_seconds"
        prompt = [HumanMessage("What is known?")]
        with pytest.raises(AnswerSilent) as caught:
            parts = timed_parts(
                model, prompt, "planner", {}, context.limits, first_seconds=0.1, is_long=is_long, is_streamed=True
            )
            async for _ in parts:
                pass
    assert f"was silent for 0.1 s ({limit})" in str(explained(caught.value))
    assert is_transient(caught.value)


class StatusError(Exception):
    """As the packages of other providers have it."""

    def __init__(self, status: int, words: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}, "status_code": status})()


class APIConnectionError(Exception):
    """As the packages of other providers name it."""


def test_errors_of_other_providers_are_known_by_their_shape() -> None:
    assert "the key of its provider" in str(explained(StatusError(401)))
    assert type(explained(StatusError(400, "prompt is too long: 9 tokens > 8 maximum"))) is PromptTooLong
    assert type(explained(StatusError(429))) is RateLimited
    assert type(explained(APIConnectionError())) is ModelFailed
    assert is_transient(APIConnectionError())


def test_a_wait_is_read_in_each_of_its_forms() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert retry_after(StatusError(429, headers={"retry-after": "1.5"})) == 1.5
    assert retry_after(StatusError(429, headers={"retry-after-ms": "1500"})) == 1.5
    assert 95 < (retry_after(StatusError(429, headers={"retry-after": later})) or 0) <= 100
    assert retry_after(StatusError(429, headers={"retry-after": "-5"})) == 0
    for nonsense in ("", "soon", "nan", "inf", "Mon, 99 Foo"):
        assert retry_after(StatusError(429, headers={"retry-after": nonsense})) is None


async def test_a_server_without_https_is_named_with_the_address_that_may_be_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with openai_server([]) as server:
        error = await error_at(server.url.replace("http:", "https:"), monkeypatch)
    assert "does not speak HTTPS" in str(explained(error))


def test_authorities_are_read_once_for_what_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = trusted_certificates()
    assert usual is trusted_certificates()
    assert usual.cert_store_stats()["x509_ca"] > 50
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert trusted_certificates() is not usual
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    assert trusted_certificates().cert_store_stats()["x509_ca"] == 0
