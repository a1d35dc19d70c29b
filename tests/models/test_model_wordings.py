"""Prompts that do not fit and models without tools, in the words of many servers."""

from __future__ import annotations

import pytest
from openai_server import fail, send
from wired import error_of, explained

from deep_research.core.models.faults import is_transient, kind_of
from deep_research.core.run.errors import PromptTooLong

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
@pytest.mark.parametrize(("status", "words", "window"), TOO_LONG)
async def test_a_prompt_that_does_not_fit_is_known_by_many_wordings(
    monkeypatch: pytest.MonkeyPatch, status: int, words: str, window: str
) -> None:
    error = await error_of(fail(status, words), monkeypatch)
    ours = explained(error)
    assert type(ours) is PromptTooLong
    assert not is_transient(error)
    assert "window" in str(ours)
    assert (f": {window} tokens" in str(ours)) is bool(window)


@pytest.mark.fault(20)
async def test_the_code_alone_tells_that_a_prompt_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [
        fail(400, "Sorry.", code="context_length_exceeded"),
        send({"error": {"message": "no", "type": "exceed_context_size_error", "n_ctx": 4096}}, status=400),
    ]
    for reply in replies:
        assert type(explained(await error_of(reply, monkeypatch))) is PromptTooLong


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
