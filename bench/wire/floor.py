"""What the same requests cost a bare `ChatOpenAI`: `python -m deep_research.bench.wire.floor FILE invoke|stream`."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessageChunk, convert_to_messages
from langchain_openai import ChatOpenAI

AT_ONCE = 3
KEPT = ("tools", "tool_choice", "parallel_tool_calls", "response_format")


async def send(requests: list[dict[str, Any]], *, streamed: bool) -> float:
    """Send the requests, a few at once; returns the processor's seconds for them."""
    model, gate = ChatOpenAI(model="gpt-4.1", max_retries=0, stream_usage=True), asyncio.Semaphore(AT_ONCE)

    async def one(request: dict[str, Any]) -> None:
        messages = convert_to_messages(request["messages"])
        bound = model.bind(**{name: request[name] for name in KEPT if name in request})
        async with gate:
            if not streamed:
                await bound.ainvoke(messages)
                return
            whole: Any = None
            async for chunk in bound.astream(messages):
                assert isinstance(chunk, AIMessageChunk)
                whole = chunk if whole is None else whole + chunk

    await one(requests[0])
    begun = resource.getrusage(resource.RUSAGE_SELF)
    await asyncio.gather(*map(one, requests))
    ended = resource.getrusage(resource.RUSAGE_SELF)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def main(path: str, how: str) -> None:
    """Print the milliseconds of a call."""
    requests = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    seconds = asyncio.run(send(requests, streamed=how == "stream"))
    sys.stdout.write(json.dumps(round(1000 * seconds / len(requests), 2)))


if __name__ == "__main__":
    main(*sys.argv[1:])
