"""Each error of a model's server becomes one helpful line without secrets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import certifi
import pytest
from kit.model_calls import KEY, PROMPT, Wire, error_at, error_of, explained, role_model
from kit.openai_server import Reply, fail, openai_server, say, send

from deep_research.core.errors import (
    ContentRefused,
    KeyRefused,
    ModelFailed,
    ModelMissing,
    PromptTooLong,
    RateLimited,
    UserMistake,
)
from deep_research.core.models._faults import (
    AnswerSilent,
    concerns_all_calls,
    is_transient,
    retry_after,
    retry_reason,
)
from deep_research.core.settings.limits import Limits
from deep_research.core.settings.network import trusted_certificates

Patch = pytest.MonkeyPatch


@pytest.mark.fault(24, "R19")
@pytest.mark.parametrize("responses_api", [False, True])
async def test_a_wrong_key_is_named_by_its_setting_and_never_shown(
    monkeypatch: Patch, responses_api: bool
) -> None:
    refused = "Incorrect API key provided: {0}. Bearer {0}"
    with openai_server(
        lambda asked: fail(401, refused.format(asked.key), code="invalid_api_key")
    ) as server:
        error = await error_at(server.url, monkeypatch, responses_api=responses_api)
    ours = explained(error)
    assert type(ours).__name__ == KeyRefused.__name__
    assert isinstance(ours, UserMistake)
    assert "OPENAI_API_KEY" in str(ours)
    assert not is_transient(error)
    assert len(server.requests) == 1


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
    (400, "prompt is too long: 210000 tokens > 200000 maximum", "200000"),
    (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", ""),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "1048576"),
    (400, "Please reduce the length of the messages or completion.", ""),
    (413, "Payload Too Large", ""),
    (429, "Request too large for gpt-x on tokens per min (TPM): Limit 10000, Requested 20000.", ""),
]  # fmt: skip
NO_TOOLS = [
    (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (404, 'No endpoints found that support tool use. Try disabling "look".'),
    (400, "`tool calling` is not supported with this model"),
    (400, "Function calling is not enabled for models/gemma-3"),
    (400, "fake-1 does not support Function Calling"),
]
BAD_CALLS = [
    send({"error": {"message": "Failed to call a function.", "code": "tool_use_failed",
                    "failed_generation": "I know of its moderation and context length."}}, status=400),
    fail(400, "Tool call validation failed: attempted to call tool 'find' which was not in request.tools"),
    fail(500, "error parsing tool call: raw='{\"queries\":[1]}]', err=invalid character ']' after top-level value"),
    fail(500, "Failed to parse input at pos 0: <tool_call>"),
    fail(424, "Model produced invalid sequence as part of ToolUse."),
    fail(400, "Unable to parse the model's output."),
    send('data: {"error": {"code": "output_parse_failed", "failed_generation": ""}}\n\n',
         content_type="text/event-stream"),
    say("", finish="MALFORMED_FUNCTION_CALL"),
    say("", finish="function_call_filter: MALFORMED_FUNCTION_CALL"),
]  # fmt: skip
REFUSED = [
    *(Reply(refusal=f"I cannot, {KEY}.", streams=streams) for streams in (True, False)),
    *(say("It was", finish="content_filter", streams=streams) for streams in (True, False)),
    *(say("It was", finish=reason) for reason in ("SAFETY", "RECITATION", "content_filter: OTHER")),
    say("It was", finish="sensitive"),
    fail(
        400,
        "The response was filtered due to Azure's content management policy.",
        code="content_filter",
    ),
    fail(403, "Your chosen model requires moderation and your input was flagged"),
]

BROKEN = [
    *(say("It was lit in 1844.", ending=ending) for ending in ("reset", "broken", "cut")),
    send({"choices": []}),
    send("<html>Sign in</html>", content_type="text/html"),
    send({"error": {"message": f"boom {KEY}"}}),
]


@pytest.mark.fault(9, 10, 20, 21, 24)
@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (fail(403, f"No access with {KEY}"), KeyRefused, "OPENAI_API_KEY"),
        (fail(400, "API key not valid. Please pass a valid API key."), KeyRefused, "OPENAI_API_KEY"),
        (fail(429, "You exceeded your quota", code="insufficient_quota"), KeyRefused, "credit"),
        (fail(429, "Rate limit exceeded: free-models-per-day. Add 10."), KeyRefused, "next day"),
        (fail(429, "GenerateRequestsPerDayPerProject-FreeTier"), KeyRefused, "next day"),
        (fail(402, "Payment required"), KeyRefused, "credit"),
        (fail(404, f"The model `{KEY}` does not exist", code="model_not_found"), ModelMissing, "models"),
        (fail(404, "404 page not found"), ModelMissing, "OPENAI_BASE_URL"),
        (fail(400, "fake-1 is not a valid model ID"), ModelMissing, "models"),
        (fail(403, "Project does not have access", code="model_not_found"), ModelMissing, "models"),
        *((reply, ContentRefused, "declined to answer") for reply in REFUSED),
        *((fail(status, words), PromptTooLong, f"can read{window and f': {window} tokens'} (HTTP {status}); set window")
          for status, words, window in TOO_LONG),
        (fail(400, "Sorry.", code="context_length_exceeded"), PromptTooLong, "set window"),
        (send({"error": {"message": "no", "type": "exceed_context_size_error", "n_ctx": 4096}}, status=400),
         PromptTooLong, "set window"),
        *((fail(status, words), ModelFailed, "; set tool_calls to schema") for status, words in NO_TOOLS),
    ],
)  # fmt: skip
async def test_a_permanent_failure_is_recognised_by_its_message(
    monkeypatch: Patch, reply: Reply, kind: Any, words: str
) -> None:
    error = await error_of(reply, monkeypatch)
    ours = explained(error)
    assert type(ours).__name__ == kind.__name__
    assert words in str(ours)
    assert not is_transient(error)


@pytest.mark.fault(2)
async def test_a_long_wait_is_stated_in_minutes(monkeypatch: Patch) -> None:
    error = await error_of(fail(429, "Slow down.", retry_after=3600), monkeypatch)
    assert "retry after 60 min, which is longer than retry_seconds" in str(explained(error))


@pytest.mark.fault(3, 4, 5, 6, 22)
@pytest.mark.parametrize(
    ("reply", "kind", "has_to_wait"),
    [
        *((reply, ModelFailed, False) for reply in BROKEN),
        *((reply, ModelFailed, False) for reply in BAD_CALLS),
        (fail(429, "Slow down."), RateLimited, True),
        *((fail(status), ModelFailed, False) for status in (408, 500, 504)),
        *((fail(status), ModelFailed, True) for status in (502, 503)),
        (fail(503, retry_after=2), ModelFailed, True),
        (fail(529, "Overloaded"), ModelFailed, True),
        (send({"error": {"message": "Provider returned error", "code": 429}}), RateLimited, True),
        (send({"error": {"message": "Provider returned error", "code": 502}}), ModelFailed, True),
        (send({"error": "Rate limit reached"}), RateLimited, True),
        (send('data: {"error": {"message": "boom", "code": 503}}\n\n', content_type="text/event-stream"), ModelFailed,
         True),
    ],
)  # fmt: skip
async def test_faults_of_servers_are_transient(
    monkeypatch: Patch, reply: Reply, kind: Any, has_to_wait: bool
) -> None:
    error = await error_of(reply, monkeypatch)
    assert type(explained(error)).__name__ == kind.__name__
    assert is_transient(error)
    assert concerns_all_calls(error, has_answered=False) is has_to_wait
    assert retry_reason(error)
    assert ("OPENAI_BASE_URL" in str(explained(error))) is (reply in BROKEN)
    assert ("; set tool_calls to schema or tags" in str(explained(error))) is (reply in BAD_CALLS)


@pytest.mark.fault("R19")
async def test_an_unreachable_server_is_named_without_credentials_as_is_one_without_https(
    monkeypatch: Patch,
) -> None:
    error = await error_at(f"http://user:{KEY}@127.0.0.1:1/v1", monkeypatch)
    assert type(explained(error)) is ModelFailed
    assert "127.0.0.1:1" in str(explained(error)) and "OPENAI_BASE_URL" in str(explained(error))
    assert is_transient(error) and concerns_all_calls(error, has_answered=True)
    assert not concerns_all_calls(error, has_answered=False), "it may never have been started"
    with openai_server([]) as server:
        error = await error_at(server.url.replace("http:", "https:"), monkeypatch)
    assert not concerns_all_calls(error, has_answered=True), "another call does not help"
    assert "does not speak HTTPS" in str(explained(error))


@pytest.mark.fault(7)
@pytest.mark.parametrize(
    ("reply", "limit"),
    [
        (say("Yes.", wait=9), "idle_seconds"),
        (say("It was lit in 1844.", ending="stall"), "report_idle_seconds"),
    ],
)
async def test_a_call_that_exceeds_its_idle_timeout_is_given_up(
    wire: Wire, reply: Reply, limit: str
) -> None:
    limits = Limits.model_validate({limit: 0.1, "first_token_seconds": 0.1, "retry_seconds": 0})
    model = role_model("planner", wire([reply], limits=limits).context)
    model.request = model.request._replace(is_long=limit == "report_idle_seconds")
    with pytest.raises(AnswerSilent) as caught:
        async for _ in model.astream(PROMPT):
            pass
    assert f"was silent for 0.1 s ({limit})" in str(explained(caught.value))
    assert is_transient(caught.value)


class StatusError(Exception):
    """An error as the packages of other providers raise it."""

    def __init__(self, status: int, words: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}, "status_code": status})()


class APIConnectionError(Exception):
    """An error with the name that the packages of other providers use."""


def test_errors_of_other_providers_are_recognised_by_name_and_status() -> None:
    assert "the key of its provider" in str(explained(StatusError(401)))
    assert (
        type(explained(StatusError(400, "prompt is too long: 9 tokens > 8 maximum")))
        is PromptTooLong
    )
    assert "cannot be reached" in str(explained(APIConnectionError()))


def test_the_wait_that_a_server_asks_for_is_read_in_each_form() -> None:
    def wait(stated: str, header: str = "retry-after") -> float | None:
        return retry_after(StatusError(429, headers={header: stated}))

    assert (wait("1.5"), wait("1500", "retry-after-ms"), wait("-5")) == (1.5, 1.5, 0)
    assert (
        95
        < (wait(format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)) or 0)
        <= 100
    )
    assert {wait(nonsense) for nonsense in ("", "soon", "nan", "inf", "Mon, 99 Foo")} == {None}


def test_certificate_authorities_are_loaded_once_for_each_setting(monkeypatch: Patch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    usual = trusted_certificates()
    assert usual is trusted_certificates()
    assert usual.cert_store_stats()["x509_ca"] > 50
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert trusted_certificates() is not usual
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    assert trusted_certificates().cert_store_stats()["x509_ca"] == 0
