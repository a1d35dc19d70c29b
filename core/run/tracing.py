"""Tracing by LangSmith or OpenTelemetry: where it sends what a run reads, runs without it, and tools as part of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Any, TypeVar
from urllib.parse import urlsplit

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables import config as configs
from langchain_core.tracers.langchain import LangChainTracer
from langsmith.run_helpers import tracing_context
from langsmith.utils import get_api_url, get_env_var, get_tracer_project, is_env_var_truish, tracing_is_enabled

from .context import Context

Value = TypeVar("Value")
OFF = frozenset({"false", "f", "0", "no", "n", "off"})
"""Values of `tracing` in a request that mean no."""


def traced_to() -> str:
    """Return hosts and project to which the environment has runs traced; empty if it traces nothing."""
    if not tracing_is_enabled():
        return ""
    by_flags = "otel" if is_env_var_truish("OTEL_ONLY") else "hybrid" if is_env_var_truish("OTEL_ENABLED") else ""
    mode = (get_env_var("TRACING_MODE") or by_flags).lower()
    urls = re.findall(r"https?://[^\"\s]+", get_env_var("RUNS_ENDPOINTS") or "") or [get_api_url(None)]
    if mode in ("otel", "hybrid"):
        variables = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
        by_otel = next(filter(None, map(os.environ.get, variables)), get_api_url(None))
        urls = [by_otel] if mode == "otel" else [*urls, by_otel]
    hosts = dict.fromkeys(urlsplit(url).netloc.rpartition("@")[2] for url in urls)
    return f"{' and '.join(hosts)} (project {get_tracer_project()!r})"


def tracing_notices(context: Context) -> tuple[str, ...]:
    """Return what the reader should know: where prompts and passages go, if they go anywhere."""
    destination = traced_to() if context.tracing else ""
    words = f"Tracing is on: prompts and passages go to {destination}; tracing or --no-trace switches it off."
    return (words,) if destination else ()


def is_traced(*sources: object) -> bool:
    """Return whether the environment may have a run traced: no if one of its settings, in any form, says no."""
    given = [one.get("tracing") if isinstance(one, Mapping) else getattr(one, "tracing", None) for one in sources]
    if any(str(value).strip().lower() in OFF for value in given):
        return False
    return any(isinstance(one, Context) for one in sources) or Context().tracing


def tracing_if(is_on: bool) -> AbstractContextManager[None]:
    """Have nothing traced within the block if it is off; callbacks that a call passes stay."""
    return nullcontext() if is_on else tracing_context(enabled=False)


async def untraced(parts: AsyncGenerator[Value, None], *, is_run: bool = False) -> AsyncGenerator[Value, None]:
    """Pass on a stream without having it traced; a whole run is not traced as part of the run around it either."""
    around = configs.var_child_runnable_config.get()
    config = without_tracers(around) if around and is_run else around
    async with aclosing(parts):
        while True:
            # What the caller does between two parts is traced as before.
            token = configs.var_child_runnable_config.set(config)
            try:
                with tracing_if(False):
                    part = await anext(parts)
            except StopAsyncIteration:
                return
            finally:
                configs.var_child_runnable_config.reset(token)
            yield part


def without_tracers(config: RunnableConfig) -> RunnableConfig:
    """Return a config without the tracers that a run inherits from the one around it."""
    callbacks = config.get("callbacks")
    if not isinstance(callbacks, BaseCallbackManager):
        return config
    callbacks = callbacks.copy()
    for handler in [one for one in callbacks.handlers if isinstance(one, LangChainTracer)]:
        callbacks.remove_handler(handler)
    return {**config, "callbacks": callbacks}


async def traced_tool(
    name: str, inputs: dict[str, Any], work: Callable[[], Coroutine[Any, Any, Value]], output: Callable[[Value], object]
) -> Value:
    """Await the work of a tool as a run of its own, which callbacks see with its inputs and its `output`."""
    config = configs.ensure_config()
    manager = configs.get_async_callback_manager_for_config(config)
    run = await manager.on_tool_start({"name": name}, json.dumps(inputs, default=str), inputs=inputs)
    try:
        with configs.set_config_context(configs.patch_config(config, callbacks=run.get_child())) as context:
            value = await asyncio.create_task(work(), context=context)
    except BaseException as error:
        await run.on_tool_error(error)
        raise
    await run.on_tool_end(output(value))
    return value
