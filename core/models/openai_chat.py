"""A chat model at any server that speaks OpenAI's API, with what such servers add and do otherwise."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from openai import APIConnectionError, APIStatusError, AsyncStream
from pydantic import PrivateAttr, ValidationError
from typing_extensions import override

from ..run.conversation import clean_nested
from ..run.transcripts import REASONING, whole_message
from .deltas import MOST_BYTES, Deltas, as_chunk, events, parsed
from .faults import BROKE_OFF, AnswerBroken, AnswerRefused
from .quirks import OUTPUT_LIMITS, ModelTraits, adapt, learn, room_in
from .windows import read_window

AS_IT_CAME = {"X-Stainless-Raw-Response": "true"}
"""The header that makes OpenAI's client return the response itself."""
FINISH = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Finish reasons of the Responses API in the words of the older one."""


class OpenAIChat(ChatOpenAI):
    """Calls `/chat/completions`, or `/responses` where the model or the setting wants it."""

    reasons: bool | None = None
    """Whether the model reasons, so that a summary of its thoughts can be asked for; not set: as its profile says."""
    is_at_openai: bool = True
    """Whether the server is OpenAI's own, or Azure's, which has a new name for the limit on the tokens of an answer."""
    _learned: ModelTraits = PrivateAttr(default=ModelTraits())
    """What was learned from refusals, in this process or an earlier one."""

    @property
    def learned(self) -> ModelTraits:
        """What is known of the model at this server."""
        return self._learned

    async def read_window(self) -> int | None:
        """Return how many tokens the server says that the model reads; none if it does not say, or is OpenAI's own."""
        return None if self.is_at_openai else await read_window(self.root_async_client, self.model_name)

    def recall(self, learned: ModelTraits) -> None:
        """Take what was learned earlier."""
        self._learned |= learned

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **settings: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async with aclosing(self._call(messages, {**settings, "stop": stop, "stream": True})) as parts:
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
            raise AnswerBroken("no answer at all")
        message = whole_message(whole.message, whole.message.text)
        return ChatResult(generations=[ChatGeneration(message=message, generation_info=whole.generation_info)])

    async def _call(
        self, messages: list[BaseMessage], settings: Mapping[str, Any]
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        """Make the call, and make it again where the server says what it does not take of it."""
        while True:
            known = self._learned
            is_response = self._use_responses_api({**settings, **self.model_kwargs})
            reading = self._respond(messages, settings) if is_response else self._complete(messages, settings)
            try:
                async with aclosing(reading) as parts:
                    async for part in parts:
                        yield part
                return
            except APIStatusError as error:  # raised before the first part only
                sent = min(filter(None, (settings.get("max_tokens"), known.output_tokens)), default=None)
                # Another call may have learned the same in the meantime.
                traits = learn(error, sent)
                self._learned |= traits
                room = room_in(error)
                if room and sent and room < sent:
                    # It holds for this prompt alone.
                    settings = {**settings, "max_tokens": room}
                elif known | traits == known:
                    raise

    async def _complete(
        self, messages: list[BaseMessage], settings: Mapping[str, Any]
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        usage = {"stream_options": {"include_usage": True}} if settings["stream"] else {}
        payload = self._get_request_payload(messages, **{**settings, **usage})
        deltas = Deltas()
        async with aclosing(self._chunks(payload)) as chunks:
            async for chunk in chunks:
                if not chunk:
                    yield ChatGenerationChunk(message=AIMessageChunk(content=""))
                    continue
                delta = deltas.read(chunk)
                part = self._part(delta.chunk) if delta else None
                if part and delta and delta.reasoning:
                    part.message.additional_kwargs[REASONING] = delta.reasoning
                if part:
                    yield part
        deltas.close()
        last = self._part({"choices": [], "usage": deltas.usage})
        if last and deltas.usage and "cost" in deltas.usage:
            last.message.response_metadata["cost"] = float(deltas.usage["cost"])
        if last:
            yield last

    async def _chunks(self, payload: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        # Not by `chat.completions`, which takes all messages and each piece of an answer to its own classes and back.
        raw = await self.root_async_client.post(
            "/chat/completions",
            body=payload,
            cast_to=object,
            stream=payload["stream"],
            stream_cls=AsyncStream[object],
            options={"headers": AS_IT_CAME},
        )
        response = raw.http_response
        kind = response.headers.get("content-type", "")
        if payload["stream"] and "json" not in kind and "html" not in kind:
            async with aclosing(response):
                try:
                    async for data in events(response.aiter_bytes()):
                        yield parsed(data) if data else {}
                except ValueError as error:
                    raise AnswerBroken("a stream that is no JSON") from error
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
            answer = parsed(body)
        except (ValueError, KeyError, TypeError) as error:
            what = "a page instead of an answer" if "html" in kind else "no JSON"
            raise AnswerBroken(what) from error
        yield as_chunk(answer)

    def _part(self, chunk: dict[str, Any]) -> ChatGenerationChunk | None:
        return self._convert_chunk_to_generation_chunk(chunk, AIMessageChunk, None)

    async def _respond(
        self, messages: list[BaseMessage], settings: Mapping[str, Any]
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        is_whole = False
        try:
            async for part in super()._astream_responses(messages, **settings):
                is_whole = _check_response(part.message) or is_whole
                yield part
        except ValueError as error:  # LangChain's own way to say that the server reported an error
            faults = error.errors() if isinstance(error, ValidationError) else []
            if not faults or any("usage_metadata" not in fault["loc"] for fault in faults):
                raise AnswerBroken("an error in the place of an answer", str(error)) from error
            # Only the last part has counts.
            is_whole = True
            yield ChatGenerationChunk(
                message=AIMessageChunk(content="", response_metadata={"finish_reason": "stop"}, chunk_position="last")
            )
        if not is_whole:
            raise AnswerBroken(BROKE_OFF)

    @property
    def _reasons(self) -> bool:
        known = (self.profile or {}).get("reasoning_output", False)
        return known if self.reasons is None else self.reasons

    @override
    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **settings: Any
    ) -> dict[str, Any]:
        messages = convert_to_messages([input_] if isinstance(input_, str) else input_)
        payload: dict[str, Any] = super()._get_request_payload(messages, stop=stop, **settings)
        # Some names of models make the library set one.
        payload.pop("temperature", None)
        if "temperature" in settings:
            payload["temperature"] = settings["temperature"]
        if not payload.get("tools"):
            for name in ("tools", "tool_choice", "parallel_tool_calls"):
                payload.pop(name, None)
        if "input" in payload:
            # Nothing refers to what the server would store, so it need not keep the conversation.
            payload["store"] = False
            if self._reasons:
                payload["reasoning"] = {"summary": "auto", **payload.get("reasoning", {})}
        else:
            for name in OUTPUT_LIMITS:
                if name in payload:
                    payload[OUTPUT_LIMITS[self.is_at_openai]] = payload.pop(name)
            if REASONING in self._learned.quirks:
                _repeat_thoughts(messages, payload["messages"])
        sent: dict[str, Any] = clean_nested(adapt(payload, self._learned))
        return sent


def _repeat_thoughts(messages: list[BaseMessage], sent: list[dict[str, Any]]) -> None:
    for message, plain in zip(messages, sent, strict=True):
        if isinstance(message, AIMessage):
            # A call that no model made, such as the first search of a step, has no thought, and that of a call may not
            # be empty.
            plain[REASONING] = message.additional_kwargs.get(REASONING) or (" " if message.tool_calls else "")


def _check_response(message: BaseMessage) -> bool:
    """Whether this is the last part of an answer; names its finish reason as the older API does."""
    blocks = message.content if isinstance(message.content, list) else []
    if any(isinstance(block, dict) and block.get("type") == "refusal" for block in blocks):
        raise AnswerRefused
    if not isinstance(message, AIMessageChunk) or message.chunk_position != "last":
        return False
    details = message.response_metadata.get("incomplete_details") or {}
    reason = FINISH.get(details.get("reason", ""), "stop")
    if reason == "content_filter":
        raise AnswerRefused
    message.response_metadata["finish_reason"] = reason
    return True
