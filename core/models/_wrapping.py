"""What chat models that wrap another chat model share: the parts of an answer, and calls that open
no run of their own in a trace."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Self, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field
from typing_extensions import override

from ..dialogue.transcripts import REASONING
from ..errors import ModelFailed
from ._chunks import message_from_chunks

_BATCH = 64
"""Number of parts to collect before joining them, because each join copies the whole answer."""


class AnswerPart(AIMessageChunk):
    """A part of an answer, with what LangChain's chunks have no field for."""

    is_restart: bool = False
    """Whether the answer begins again, which makes all earlier parts void."""
    leaked_thought: str = ""
    """A thought that the model wrote into its text; it is not part of the content."""
    arriving_calls: list[ToolCallChunk] = Field(default_factory=list)
    """Tool calls as they arrive, for display; the last part has the calls to run."""
    answer: AIMessage | None = None
    """The whole answer; only in the last part."""


class Assembly:
    """The parts of an answer that arrived so far, joined into one message."""

    def __init__(self) -> None:
        self._parts: list[AIMessage] = []

    @property
    def whole(self) -> AIMessage | None:
        """The answer so far; None before the first part."""
        if len(self._parts) > 1:
            self._parts = [self._parts[0] + self._parts[1:]]  # type: ignore[list-item]  # all are chunks
        return self._parts[0] if self._parts else None

    def add(self, part: AIMessage) -> None:
        """Add the next part; a message that is no chunk replaces all earlier parts."""
        first = self._parts[0] if self._parts else None
        if isinstance(first, AIMessageChunk) and isinstance(part, AIMessageChunk):
            self._parts = [*self._parts, part]
        else:
            self._parts = [part]
        if len(self._parts) > _BATCH:
            self._parts = [self.whole or part]

    def message(self) -> AIMessage:
        """Return the joined message; raises `ModelFailed` if nothing arrived."""
        whole = self.whole
        if whole is None:
            raise ModelFailed("The model broke off without an answer.")
        if isinstance(whole, AIMessageChunk):
            return message_from_chunks(whole, whole.text)
        return whole


class WrappingChatModel(BaseChatModel):
    """A chat model that calls another one.

    `astream` and `ainvoke` open no run for callbacks and tracers: the run is that of the wrapped
    model, so a call is one run however many models are wrapped around it. LangChain's other ways to
    call a model open a run of their own. It can only be called asynchronously.
    """

    bound: dict[str, Any] = Field(default_factory=dict)
    """Settings of each call, such as its tools."""

    @abstractmethod
    def parts(
        self,
        messages: Sequence[AnyMessage],
        config: RunnableConfig | None,
        *,
        is_streamed: bool,
        settings: dict[str, Any],
    ) -> AsyncGenerator[AIMessage, None]:
        """Make a call; yield the parts of its answer, or a single one unless `is_streamed`."""

    @staticmethod
    async def received(
        model: Runnable[Any, Any],
        messages: Sequence[AnyMessage],
        config: RunnableConfig | None,
        *,
        is_streamed: bool,
    ) -> AsyncGenerator[tuple[AIMessage, Assembly], None]:
        """Call the wrapped model, with its settings bound; yield each part of its answer together
        with the answer so far."""
        answer = Assembly()
        prompt = [*messages]
        if not is_streamed:
            whole = await model.ainvoke(prompt, config)
            answer.add(whole)
            yield whole, answer
            return
        stream = cast(AsyncGenerator[AIMessage, None], model.astream(prompt, config))
        async with aclosing(stream):
            async for part in stream:
                if isinstance(part, AnswerPart) and part.is_restart:
                    answer = Assembly()
                else:
                    answer.add(part)
                yield part, answer

    @override
    def bind(self, **settings: Any) -> Self:  # type: ignore[override]  # no `_ChatModelBinding`
        """Return a copy whose calls have these settings; unlike a binding, it is a chat model."""
        return self.model_copy(update={"bound": {**self.bound, **settings}})

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **settings: Any,
    ) -> Self:
        """Return a copy whose calls offer these tools; see `BaseChatModel.bind_tools`."""
        schemas = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=schemas, tool_choice=tool_choice or "auto", **settings)

    @override
    async def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[AIMessageChunk, None]:
        """Make a call; yield the parts of its answer as the wrapped model sends them."""
        async with aclosing(self._called(input, config, stop, kwargs, is_streamed=True)) as parts:
            async for part in parts:
                # A wrapped model that cannot stream yields an `AIMessage`.
                yield cast(AIMessageChunk, part)

    @override
    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Make a call and return the whole answer."""
        answer = Assembly()
        async with aclosing(self._called(input, config, stop, kwargs, is_streamed=False)) as parts:
            async for part in parts:
                if isinstance(part, AnswerPart) and part.is_restart:
                    answer = Assembly()
                elif isinstance(part, AnswerPart) and part.answer:
                    return part.answer
                else:
                    answer.add(part)
        return answer.message()

    def _called(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None,
        stop: list[str] | None,
        settings: dict[str, Any],
        *,
        is_streamed: bool,
    ) -> AsyncGenerator[AIMessage, None]:
        messages: Any = self._convert_input(input).to_messages()
        settings = {**self.bound, **settings}
        if stop is not None:
            settings["stop"] = stop
        return self.parts(messages, config, is_streamed=is_streamed, settings=settings)

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for part in self.astream(messages, stop=stop, **kwargs):
            yield ChatGenerationChunk(message=part)

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = await self.ainvoke(messages, stop=stop, **kwargs)
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError(f"{type(self).__name__} is only called asynchronously")


def reasoning_of(message: AIMessage) -> str:
    """Return the thought that a message or chunk has beside its text, in any provider's form; empty
    if it has none."""
    kept = message.additional_kwargs.get(REASONING)
    if isinstance(kept, str) and kept:
        return kept
    if isinstance(message.content, str):
        return ""
    thoughts: list[str] = []
    for block in message.content:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "thinking":
            thoughts.append(_text(block.get("thinking")))
        elif block.get("type") == "reasoning":
            summary = _summary(block.get("summary") or [])
            thoughts.append(_text(block.get("reasoning")) or summary)
    return "".join(thoughts)


def _summary(parts: Any) -> str:
    """Return the parts of a summary of thoughts as one text."""
    texts = [_text(part.get("text")) for part in parts if isinstance(part, dict)]
    summary = "\n\n".join(texts)
    if parts and not summary and parts[0].get("index", 0) > 0:
        # The next part of a streamed summary begins.
        return "\n\n"
    return summary


def _text(value: Any) -> str:
    """Return a text, or the joined texts of a list of content blocks; empty for anything else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return "".join([_text(part.get("text")) for part in value if isinstance(part, dict)])
