"""Pages that are empty without their scripts are rendered in a real browser, and hostile ones do no
harm."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from kit import web as web_pages
from kit.engines import Answer, found
from kit.files import (
    ATTACK,
    BROWSER,
    CHROMIUM,
    FURTHER_TRIES,
    Traces,
    page_with,
    publish_app,
    reading,
    refusal,
    show,
)
from kit.forked import Forked
from kit.web import Exchange, Web, hostile_web
from kit.wire import FACTS, PADDING, Wires, is_right, researched

NAME = "app.example"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium here"),
]


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traces]:
    # Chromium makes a socket there, whose path must be short.
    with TemporaryDirectory(prefix="browser") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Traces(Path(folder))


def seen_at(web: Web, path: str, traces: Traces) -> asyncio.Event:
    """Record the running processes when this path is requested, and set the event then."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()

    async def answer(exchange: Exchange) -> None:
        assert traces.see() > 3
        await exchange.answer("{}", content_type="application/json")
        loop.call_soon_threadsafe(event.set)

    web.pages[path] = answer
    return event


async def test_a_run_reads_a_page_that_needs_scripts_and_says_that_it_was_rendered(
    wires: Wires,
) -> None:
    with wires({"researcher": researched}, browser=BROWSER) as wire:
        for name in FACTS:
            wire.engine.on(
                name, Answer([found(wire.web.url(f"/{name}"), name.title(), "About it.")])
            )
        publish_app(wire.web, "/light", "Light", f"{FACTS['light']} {PADDING}")
        state = await wire.ask()
        assert is_right(wire, state)
    assert [source.is_rendered for source in state.sources.values()].count(True) == 1
    [line] = [
        line for line in state.messages[-1].text.splitlines() if "rendered in a browser" in line
    ]
    assert "Light" in line


async def test_a_rendered_page_is_read_like_any_other(web: Web, traces: Traces) -> None:
    address = publish_app(web, "/app", "The harbour", web_pages.PARAGRAPH)
    async with reading(web) as reader:
        page = await reader.read(web.url("/redirect?/app"))
        assert await reader.read(address) == page
    assert (page.address, page.title, page.is_rendered) == (address, "The harbour", True)
    assert page.text == f"# The harbour\n\n{web_pages.PARAGRAPH.strip()}\n\nMore"
    assert [link.address for link in page.links] == [web.url("/more")]
    assert {name for request in web.requests for name in request.headers} <= {
        *("host", "user-agent", "accept", "accept-encoding")
    }
    traces.check()


async def test_scripts_reach_no_address_that_is_not_allowed(web: Web, traces: Traces) -> None:
    with hostile_web() as other, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        inner = f"127.0.0.1:{other.port}"
        asked = [
            *(
                f"http://{inner}/x",
                f"http://localhost:{other.port}/x",
                f"http://[::1]:{other.port}/x",
            ),
            *("http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "file:///etc/passwd"),
            *(web.url(f"/redirect?http://{inner}/x"), web.url("/redirect?http://169.254.169.254/")),
        ]
        code = ATTACK.replace("ADDRESSES", json.dumps(asked)).replace("INNER", inner)
        web.publish("/attack", page_with(code.replace("UDP", str(udp.getsockname()[1]))))
        web.publish("/sw.js", "", content_type="text/javascript")
        async with reading(web) as reader:
            page = await reader.read(web.url("/attack"))
        with pytest.raises(BlockingIOError):
            udp.recv(1)
        assert other.requests == []
    assert page.address == web.url("/attack")
    assert page.text.count("refused") == len(asked) + FURTHER_TRIES, page.text
    assert "got" not in page.text
    assert web.asked("/posted") == web.asked("/sw.js") == 0
    traces.check()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("while (true);", "render_seconds"),
        ("const ask = () => fetch('/n').then(ask, ask); for (;;) { ask(); alert(); }", "render_"),
        ("(function ask() { fetch('/n').then(ask, ask); setTimeout(ask); })();", "text"),
    ],
)
async def test_scripts_that_never_end_are_stopped(
    web: Web, traces: Traces, code: str, reason: str
) -> None:
    seen = seen_at(web, "/seen", traces)
    web.publish("/endless", page_with(f"await fetch('/seen'); {code}"))
    async with reading(web, limits={"render_seconds": 8}) as reader:
        assert reason in await refusal(reader, web.url("/endless"))
    assert seen.is_set()
    traces.check()


async def test_scripts_get_a_limited_number_of_requests_and_bytes_and_the_page_is_read(
    web: Web, traces: Traces
) -> None:
    many = "for (let n = 0; n < 210; n++) fetch(`/n?${n}`).catch(() => 0);"
    web.requests.clear()
    web.publish("/n", "x" * 10_000, content_type="text/plain")
    web.publish("/many", page_with(show(web_pages.PARAGRAPH) + many))
    async with reading(web) as reader:
        assert (await reader.read(web.url("/many"))).is_rendered
    # The page itself is the first.
    assert 0 < web.asked("/n") < 200
    web.publish("/n", "x" * 6_000_000, content_type="text/plain")
    sizes = (
        "let got = 0; const ask = async () => got += (await (await fetch('/n')).text()).length;"
        "for (let n = 0; n < 4; n++) await ask().catch(() => 0);"
    )
    web.publish(
        "/large",
        page_with(f"{sizes} {show(web_pages.PARAGRAPH)} document.body.append(` got ${{got}}`)"),
    )
    async with reading(web) as reader:
        assert "got 18000000" in (await reader.read(web.url("/large"))).text
    traces.check()


async def test_a_run_that_is_stopped_leaves_nothing_behind(web: Web, traces: Traces) -> None:
    seen = seen_at(web, "/seen", traces)
    web.publish("/endless", page_with("await fetch('/seen'); while (true);"))
    async with reading(web) as reader:
        task = asyncio.create_task(reader.read(web.url("/endless")))
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    traces.check()


async def test_a_process_that_is_killed_leaves_nothing_behind(web: Web, traces: Traces) -> None:
    seen = seen_at(web, "/seen", traces)
    web.publish("/endless", page_with("await fetch('/seen'); while (true);"))
    program = (
        "import asyncio, sys; from deep_research.core.reading.web_page import WebReader; "
        "from deep_research.core.settings.context import Context\n"
        "async def main():\n"
        "    async with WebReader(Context(allow_private=(sys.argv[1],), robots=False)) as reader:\n"
        "        await reader.read(sys.argv[2])\n"
        "asyncio.run(main())"
    )
    arguments = [sys.executable, "-c", program, web.netloc, web.url("/endless")]
    process = Forked(arguments, env={**os.environ, "DEEP_RESEARCH_BROWSER": BROWSER})
    await seen.wait()
    process.send_signal(signal.SIGKILL)
    process.wait()
    traces.check()


async def test_each_request_of_a_script_is_resolved_and_checked_and_obeys_robots_txt(
    web: Web,
) -> None:
    asked = list[str]()

    async def resolve(host: str, port: int) -> list[str]:
        assert host == NAME
        # The author of a page can point its name anywhere, at any time.
        return ["169.254.169.254" if "/last" in asked else "127.0.0.1"]

    async def note(exchange: Exchange) -> None:
        asked.append(exchange.request.target)
        await exchange.answer("{}", content_type="application/json")

    tried = "".join(
        f"document.body.append(await fetch('/{path}').then(() => ' got', () => ' refused') + ' {path}');"
        for path in ("denied", "last", "rebound")
    )
    for path in ("/denied", "/last", "/rebound"):
        web.pages[path] = note
    web.publish("/tries", page_with(show(web_pages.PARAGRAPH) + tried))
    web.robots = "User-agent: *\nDisallow: /denied\n"
    async with reading(web, resolve, allow_private=(f"{NAME}:{web.port}",), robots=True) as reader:
        page = await reader.read(web.url("/tries", NAME))
    web.robots = None
    assert page.is_rendered
    assert page.text.endswith("refused denied got last refused rebound")
    assert asked == ["/last"]
