"""Tracing with LangSmith or OpenTelemetry: where traces are sent, switching it off, and tool calls
in traces."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables import config as configs
from langchain_core.tracers.langchain import LangChainTracer
from langsmith.run_helpers import tracing_context
from langsmith.utils import (
    get_api_url,
    get_env_var,
    get_tracer_project,
    is_env_var_truish,
    tracing_is_enabled,
)

from ..settings.context import Context

Value = TypeVar("Value")
_OFF = frozenset({"false", "f", "0", "no", "n", "off"})
"""Values of `tracing` that switch it off."""


def traced_to() -> str:
    """Return the hosts and the project to which traces are sent, worded for the user; empty if
    tracing is off.

    They are read from the environment, as LangSmith does.
    """
    if not tracing_is_enabled():
        return ""
    hosts: list[str] = []
    for url in _trace_urls():
        host = urlsplit(url).netloc.rpartition("@")[2]
        if host not in hosts:
            hosts.append(host)
    return f"{' and '.join(hosts)} (project {get_tracer_project()!r})"


def _trace_urls() -> list[str]:
    """Return the URLs to which traces are sent."""
    mode = get_env_var("TRACING_MODE")
    if not mode and is_env_var_truish("OTEL_ONLY"):
        mode = "otel"
    elif not mode and is_env_var_truish("OTEL_ENABLED"):
        mode = "hybrid"
    mode = (mode or "").lower()
    urls = re.findall(r"https?://[^\"\s]+", get_env_var("RUNS_ENDPOINTS") or "")
    if not urls:
        urls = [get_api_url(None)]
    if mode not in ("otel", "hybrid"):
        return urls
    default = get_api_url(None)
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or default
    otel_url = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or endpoint
    if mode == "otel":
        return [otel_url]
    return [*urls, otel_url]


def tracing_notices(context: Context) -> tuple[str, ...]:
    """Return the notice for the user that prompts and passages are traced, and where they go; empty
    if they are not."""
    destination = traced_to() if context.tracing else ""
    if not destination:
        return ()
    return (
        f"Tracing is on: prompts and passages go to {destination}; switch it off with tracing or "
        "--no-trace.",
    )


class RunTracing(NamedTuple):
    """Whether a run may be traced, and how it is kept out of traces if not."""

    is_on: bool

    @classmethod
    def of(cls, *sources: object) -> RunTracing:
        """Return the tracing of a run: off if the setting `tracing` is off in any source (an object
        or a dict).

        If no source is a `Context`, the environment's settings count as well.
        """
        has_context = False
        for source in sources:
            if isinstance(source, Mapping):
                value = source.get("tracing")
            else:
                value = getattr(source, "tracing", None)
            if str(value).strip().lower() in _OFF:
                return cls(is_on=False)
            if isinstance(source, Context):
                has_context = True
        return cls(is_on=has_context or Context().tracing)

    def config(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Return the config with which the run may be called."""
        if config and not self.is_on:
            return _without_tracers(config)
        return config

    def stream(self, parts: AsyncGenerator[Value, None]) -> AsyncGenerator[Value, None]:
        """Return the run's stream, as `untraced` if tracing is off."""
        return parts if self.is_on else untraced(parts, is_run=True)

    def block(self) -> AbstractContextManager[None]:
        """Disable tracing within the block if it is off; callbacks passed in the call still run."""
        return nullcontext() if self.is_on else tracing_context(enabled=False)


async def untraced(
    parts: AsyncGenerator[Value, None], *, is_run: bool = False
) -> AsyncGenerator[Value, None]:
    """Yield the parts of a stream without tracing how they are made.

    `is_run`: the stream is that of a run, which is also kept out of the trace of the run that it is
    called in.
    """
    config = configs.var_child_runnable_config.get()
    if config and is_run:
        config = _without_tracers(config)
    async with aclosing(parts):
        while True:
            # Reset after each part, because what the caller does with it is still traced.
            token = configs.var_child_runnable_config.set(config)
            try:
                with tracing_context(enabled=False):
                    part = await anext(parts)
            except StopAsyncIteration:
                return
            finally:
                configs.var_child_runnable_config.reset(token)
            yield part


def _without_tracers(config: RunnableConfig) -> RunnableConfig:
    """Return a config without LangSmith's tracers, which a nested run inherits from the run that it
    is called in."""
    callbacks = config.get("callbacks")
    if not isinstance(callbacks, BaseCallbackManager):
        return config
    callbacks = callbacks.copy()
    for handler in tuple(callbacks.handlers):
        if isinstance(handler, LangChainTracer):
            callbacks.remove_handler(handler)
    return {**config, "callbacks": callbacks}


async def traced_tool(
    name: str,
    inputs: dict[str, Any],
    work: Callable[[], Coroutine[Any, Any, Value]],
    output: Callable[[Value], object],
) -> Value:
    """Await `work` and return its value; callbacks see a run of this tool with these inputs and
    `output(value)`."""
    config = configs.ensure_config()
    manager = configs.get_async_callback_manager_for_config(config)
    run = await manager.on_tool_start(
        {"name": name}, json.dumps(inputs, default=str), inputs=inputs
    )
    try:
        with configs.set_config_context(
            configs.patch_config(config, callbacks=run.get_child())
        ) as context:
            value = await asyncio.create_task(work(), context=context)
    except BaseException as error:
        await run.on_tool_error(error)
        raise
    await run.on_tool_end(output(value))
    return value
