"""The chat model for servers with OpenAI's API: its HTTP client, its calls, and the window that the
server states."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_messages
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from openai import APIConnectionError, APIStatusError, AsyncStream, DefaultAsyncHttpxClient, Timeout
from pydantic import PrivateAttr, ValidationError
from typing_extensions import override

from ..dialogue.conversation import clean_nested
from ..dialogue.transcripts import REASONING
from ..settings.network import ENCODING, AnswerTooLarge, limit_answer, trusted_certificates
from ._chunks import message_from_chunks
from ._deltas import MOST_BYTES, Deltas, as_chunk, parse_answer, sse_data
from ._faults import BROKE_OFF, FAILED_OUTPUT, AnswerBroken, AnswerFiltered, AnswerRefused
from ._quirks import OUTPUT_LIMITS, ModelTraits, adapt, room_in, traits_in
from ._reply import read_reply

_RAW_RESPONSE = {"X-Stainless-Raw-Response": "true"}
"""Header that makes OpenAI's client return raw responses."""
_CONNECT_SECONDS = 10.0
TIMEOUT = Timeout(None, connect=_CONNECT_SECONDS)
"""No read timeout: `Caller` enforces the limits, which differ between runs."""
_ASK_SECONDS, _LOAD_SECONDS = 5.0, 120.0
"""Timeouts for a question about the window, and for loading a model: Ollama states only the windows
of loaded ones."""
_ANSWER_BYTES = 8_000_000
"""Maximum size of an answer that is no stream, decompressed: lists of models are long."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)
"""Matches the window set in the parameters of a model of Ollama."""


class LoopClient(DefaultAsyncHttpxClient):
    """HTTP client of one event loop: ignores proxy variables, follows no redirects, and is closed
    with its loop."""

    def __init__(self, proxy: str | None) -> None:
        super().__init__(
            trust_env=False,
            proxy=proxy,
            follow_redirects=False,
            verify=trusted_certificates(),
            headers={"Accept-Encoding": ENCODING},
            event_hooks={"response": [_limit]},
        )
        self._life: AsyncGenerator[None, None] | None = None

    async def send(self, *arguments: Any, **settings: Any) -> Any:
        """See `httpx.AsyncClient.send`."""
        if self._life is None:

            async def until_the_loop_ends() -> AsyncGenerator[None, None]:
                # A loop that shuts down closes its generators while connections can still be
                # closed.
                try:
                    yield
                finally:
                    await self.aclose()

            self._life = until_the_loop_ends()
            await anext(self._life)
        return await super().send(*arguments, **settings)


async def _limit(response: Any) -> None:
    """Limit what is read of an answer; a stream is limited by its events, and as the text that a
    model may write."""
    is_stream = "event-stream" in response.headers.get("content-type", "")
    limit_answer(response, None if is_stream else _ANSWER_BYTES)


class OpenAIChat(ChatOpenAI):
    """Calls `/chat/completions`, or `/responses` if the model or the settings require it."""

    reasons: bool | None = None
    """Whether the model reasons, so that a summary of its thoughts can be requested; None: the
    profile decides."""
    is_at_openai: bool = True
    """Whether the server is OpenAI's or Azure's, which require the newer name of the output
    limit."""
    _learned: ModelTraits = PrivateAttr(default=ModelTraits())
    """Traits that refusals revealed, in this process or an earlier one."""

    @property
    def learned(self) -> ModelTraits:
        """What was learned about the model at this server."""
        return self._learned

    async def read_window(self) -> int | None:
        """Ask the server for the model's window in tokens; works with vLLM, OpenRouter, llama.cpp
        and Ollama.

        Return None if the server is OpenAI's own, or states no window in time.
        """
        if self.is_at_openai:
            return None
        model = self.model_name
        base = str(self.root_async_client.base_url).rstrip("/")
        root = base.removesuffix("/v1")
        loaded_models = f"{root}/api/ps"
        gets = [f"{base}/models", f"{root}/props?model={quote(model)}", loaded_models]
        posts = [f"{root}/api/show", f"{root}/api/generate"]
        for url in (*gets, *posts, loaded_models):
            body = {"model": model, "stream": False} if url in posts else None
            try:
                answer = await self._answer_of(url, body)
            except (APIConnectionError, TimeoutError):
                return None
            window = _window_in(answer, model)
            if window:
                return window
            is_ollama = isinstance(answer, dict) and answer.keys() & {
                "models",
                "model_info",
                "done",
            }
            if "/api/" in url.removeprefix(root) and not is_ollama:
                return None
        return None

    async def _answer_of(self, url: str, body: dict[str, Any] | None) -> Any:
        """Return the server's answer to a question about the window; empty if it has none.

        With a body, the request is a POST. Raises `APIConnectionError` or `TimeoutError`.
        """
        client = self.root_async_client
        try:
            if body:
                async with asyncio.timeout(_LOAD_SECONDS):
                    return await client.post(url, cast_to=object, body=body)
            async with asyncio.timeout(_ASK_SECONDS):
                return await client.get(url, cast_to=object)
        except (APIStatusError, AnswerTooLarge, ValueError):
            return {}

    def recall(self, quirks: Iterable[str], output_tokens: int | None) -> None:
        """Add traits that were learned earlier."""
        self._learned |= ModelTraits(frozenset(quirks), output_tokens)

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **settings: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async with aclosing(
            self._call(messages, {**settings, "stop": stop, "stream": True})
        ) as parts:
            async for part in parts:
                yield part

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **settings: Any,
    ) -> ChatResult:
        whole: ChatGenerationChunk | None = None
        async for part in self._call(messages, {**settings, "stop": stop, "stream": False}):
            whole = part if whole is None else whole + part
        if whole is None or not isinstance(whole.message, AIMessageChunk):
            raise AnswerBroken("no answer")
        message = message_from_chunks(whole.message, whole.message.text)
        return ChatResult(
            generations=[ChatGeneration(message=message, generation_info=whole.generation_info)]
        )

    async def _call(
        self, messages: list[BaseMessage], settings: Mapping[str, Any]
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        """Make the call; as long as a refusal reveals a new trait of the server, repeat the call
        adapted to it."""
        while True:
            known = self._learned
            if self._use_responses_api({**settings, **self.model_kwargs}):
                answer = self._respond(messages, settings)
            else:
                answer = self._complete(messages, settings)
            try:
                async with aclosing(answer) as parts:
                    async for part in parts:
                        yield part
                return
            except (APIStatusError, AnswerBroken) as error:
                calls = _failed_calls(error, settings)
                if calls:
                    yield ChatGenerationChunk(message=calls)
                    return
                if isinstance(error, AnswerBroken):
                    raise
                # A status is only received before the first part.
                limits = [settings.get("max_tokens"), known.output_tokens]
                sent = min([limit for limit in limits if limit], default=None)
                # Compare with `known`: a concurrent call may have learned the same trait meanwhile.
                body = json.loads(error.request.content)
                traits = traits_in(error, sent, body.get("tool_choice"))
                self._learned |= traits
                room = room_in(error)
                if room and sent and room < sent:
                    # This output limit applies only to this prompt.
                    settings = {**settings, "max_tokens": room}
                elif known | traits == known:
                    raise

    async def _complete(
        self, messages: list[BaseMessage], settings: Mapping[str, Any]
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        """Make a call of `/chat/completions`."""
        if settings["stream"]:
            settings = {**settings, "stream_options": {"include_usage": True}}
        payload = self._get_request_payload(messages, **settings)
        deltas = Deltas()
        async with aclosing(self._chunks(payload)) as chunks:
            async for chunk in chunks:
                if not chunk:
                    yield ChatGenerationChunk(message=AIMessageChunk(content=""))
                    continue
                piece, thought = deltas.read(chunk)
                if not piece:
                    continue
                part = self._convert_chunk_to_generation_chunk(piece, AIMessageChunk, None)
                if part:
                    if thought:
                        part.message.additional_kwargs[REASONING] = thought
                    yield part
        deltas.close()
        counts: dict[str, Any] = {"choices": [], "usage": deltas.usage}
        last = self._convert_chunk_to_generation_chunk(counts, AIMessageChunk, None)
        if last:
            if deltas.usage and "cost" in deltas.usage:
                last.message.response_metadata["cost"] = float(deltas.usage["cost"])
            yield last

    async def _chunks(self, payload: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the chunks of an answer as sent by `/chat/completions`; an unstreamed answer is one
        chunk."""
        # `chat.completions` would convert each chunk to a class of its own and back.
        raw = await self.root_async_client.post(
            "/chat/completions",
            body=payload,
            cast_to=object,
            stream=payload["stream"],
            stream_cls=AsyncStream[object],
            options={"headers": _RAW_RESPONSE},
        )
        response = raw.http_response
        kind = response.headers.get("content-type", "")
        if payload["stream"] and "json" not in kind and "html" not in kind:
            async with aclosing(response):
                try:
                    async for data in sse_data(response.aiter_bytes()):
                        yield parse_answer(data) if data else {}
                except ValueError as error:
                    raise AnswerBroken("a stream of invalid JSON") from error
                except Exception as error:
                    raise APIConnectionError(request=response.request) from error
            return
        body = b""
        async with aclosing(response):
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    break
        try:
            answer = parse_answer(body)
        except (ValueError, KeyError, TypeError) as error:
            what = "a web page instead of an answer" if "html" in kind else "invalid JSON"
            raise AnswerBroken(what) from error
        yield as_chunk(answer)

    async def _respond(
        self, messages: list[BaseMessage], settings: Mapping[str, Any]
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        """Make a call of `/responses`, through LangChain's implementation."""
        is_whole = False
        try:
            async for part in super()._astream_responses(messages, **settings):
                message = part.message
                if _is_refusal(message):
                    raise AnswerRefused
                if isinstance(message, AIMessageChunk) and message.chunk_position == "last":
                    details = message.response_metadata.get("incomplete_details") or {}
                    cause = details.get("reason")
                    if cause == "content_filter":
                        raise AnswerFiltered
                    # Use the names of `/chat/completions`.
                    reason = "length" if cause == "max_output_tokens" else "stop"
                    message.response_metadata["finish_reason"] = reason
                    is_whole = True
                yield part
        except ValueError as error:  # how LangChain reports an error from the server
            if not _is_about_counts(error):
                raise AnswerBroken("an error", str(error)) from error
            # LangChain rejects invalid token counts, which only the last part has.
            is_whole = True
            yield ChatGenerationChunk(
                message=AIMessageChunk(
                    content="",
                    response_metadata={"finish_reason": "stop"},
                    chunk_position="last",
                )
            )
        if not is_whole:
            raise AnswerBroken(BROKE_OFF)

    @override
    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **settings: Any
    ) -> dict[str, Any]:
        messages = convert_to_messages([input_] if isinstance(input_, str) else input_)
        payload: dict[str, Any] = super()._get_request_payload(messages, stop=stop, **settings)
        # LangChain sets a temperature for some models.
        payload.pop("temperature", None)
        if "temperature" in settings:
            payload["temperature"] = settings["temperature"]
        if not payload.get("tools"):
            for name in ("tools", "tool_choice", "parallel_tool_calls"):
                payload.pop(name, None)
        if "input" in payload:
            # OpenAI would store the conversation, which is never needed again.
            payload["store"] = False
            reasons = self.reasons
            if reasons is None:
                reasons = (self.profile or {}).get("reasoning_output", False)
            if reasons:
                payload["reasoning"] = {"summary": "auto", **payload.get("reasoning", {})}
        else:
            limit_name, openai_name = OUTPUT_LIMITS
            if self.is_at_openai:
                limit_name = openai_name
            for name in OUTPUT_LIMITS:
                if name in payload:
                    payload[limit_name] = payload.pop(name)
            if REASONING in self._learned.quirks:
                _add_thoughts(payload["messages"], messages)
        sent: dict[str, Any] = clean_nested(adapt(payload, self._learned))
        return sent


def _failed_calls(error: Exception, settings: Mapping[str, Any]) -> AIMessageChunk | None:
    """Return the calls in a model's output that its server could not read, but that can be read.

    None if the error has no such output, or if the request did not ask for calls.
    """
    body = getattr(error, "body", None)
    output = body.get(FAILED_OUTPUT) if isinstance(body, dict) else None
    if not isinstance(output, str) or settings.get("tool_choice") == "none":
        return None
    read = read_reply(AIMessage(output), settings.get("tools") or ())
    if not read.tool_calls:
        return None
    chunks: list[ToolCallChunk] = []
    for index, call in enumerate(read.tool_calls):
        arguments = json.dumps(call["args"], ensure_ascii=False)
        identifier = f"call_{uuid.uuid4().hex}"
        chunks.append(
            tool_call_chunk(name=call["name"], args=arguments, id=identifier, index=index)
        )
    return AIMessageChunk(
        content="",
        tool_call_chunks=chunks,
        response_metadata={"finish_reason": "tool_calls"},
        chunk_position="last",
    )


def _is_refusal(message: BaseMessage) -> bool:
    """Whether a part of an answer says that the model declined to answer."""
    if not isinstance(message.content, list):
        return False
    blocks = [block for block in message.content if isinstance(block, dict)]
    return any(block.get("type") == "refusal" for block in blocks)


def _is_about_counts(error: ValueError) -> bool:
    """Whether LangChain rejects nothing but the token counts of an answer."""
    if not isinstance(error, ValidationError):
        return False
    return all("usage_metadata" in fault["loc"] for fault in error.errors())


def _add_thoughts(payload: list[dict[str, Any]], messages: list[BaseMessage]) -> None:
    """Add the model's thoughts to its messages in the body of a request."""
    for message, sent in zip(messages, payload, strict=True):
        if isinstance(message, AIMessage):
            thought = message.additional_kwargs.get(REASONING)
            if not thought:
                # Every call needs a thought, even one made by this package, such as a step's first
                # search.
                thought = " " if message.tool_calls else ""
            sent[REASONING] = thought


def _window_in(answer: Any, model: str) -> int | None:
    """Return the model's window as stated in a server's answer to one of the questions of
    `read_window`, or None."""
    match answer:
        case {"default_generation_settings": {"n_ctx": int(window)}}:
            return window
        case {"parameters": str(parameters), "model_info": dict(info)} if (
            num_ctx := _NUM_CTX.search(parameters)
        ):
            windows = [int(num_ctx[1])]
            for name, tokens in info.items():
                if name.endswith(".context_length"):
                    windows.append(int(tokens))
            return min(windows)
        case {"data": [*entries]} | {"models": [*entries]}:
            for entry in entries:
                if not isinstance(entry, dict):
                    continue
                if entry.get("id", entry.get("name")) in (model, f"{model}:latest"):
                    stated = entry.get("max_model_len") or entry.get("context_length")
                    if isinstance(stated, int):
                        return stated
    return None
