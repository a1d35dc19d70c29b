"""The child process that renders a page in a browser.

It forwards requests to the parent and returns the HTML.

The browser has no network access: no host name resolves, not even its proxy's, so anything else
(WebSockets, WebRTC, prefetching) fails. A page that sends a flood of requests blocks only this
process.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
import threading
from contextlib import suppress
from tempfile import mkdtemp
from typing import Any

from playwright.async_api import Error, Route, async_playwright

from .documents.worker import MessagePipe

_SWITCHES = (
    "--proxy-server=http://nowhere.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=512",
)
_MOST_REQUESTS = 200
"""Requests that a page may make; further ones fail."""
_HAS_TEXT = "() => document.body && document.body.innerText.trim().length > 250"
_SETTLING_SHARE = 0.3
"""Share of `render_seconds` to wait for the page to show text, and as long again for it to stop
loading."""


class Visit:
    """A page in a browser.

    `options` contains its address and charset, the browser's command, and the limits.
    """

    def __init__(self, options: dict[str, Any], page: bytes, pipe: MessagePipe) -> None:
        self._options = options
        self._page = page
        self._pipe = pipe
        self._requests = 0
        """Number of requests so far."""
        self._browser = 0
        """The browser's process id; 0 before it has started."""
        self._waiting: dict[int, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}

    async def run(self) -> None:
        """Send the page's HTML (UTF-8) or the browser's error.

        Then wait for the parent to stop this process.
        """
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=[loop], daemon=True).start()
        try:
            async with async_playwright() as playwright:
                chromium = playwright.chromium
                program, *switches = shlex.split(self._options["command"])
                browser = await chromium.launch(
                    executable_path=shutil.which(program) or chromium.executable_path,
                    args=[*switches, *_SWITCHES],
                    chromium_sandbox=True,
                )
                session = await browser.new_browser_cdp_session()
                processes = await session.send("SystemInfo.getProcessInfo")
                self._browser = next(
                    info["id"] for info in processes["processInfo"] if info["type"] == "browser"
                )
                context = await browser.new_context(accept_downloads=False, service_workers="block")
                settling_seconds = _SETTLING_SHARE * self._options["render_seconds"]
                context.set_default_timeout(settling_seconds * 1000)
                await context.route("**/*", self._answer)
                page = await context.new_page()
                await page.goto(self._options["address"], wait_until="commit")
                with suppress(Error):
                    await page.wait_for_function(_HAS_TEXT)
                    await page.wait_for_load_state("networkidle")
                html = (await page.content()).encode(errors="replace")
            self._pipe.send({}, html[: self._options["max_page_bytes"]])
        except (Error, ValueError) as error:
            self._pipe.send({"error": str(error)})
        await asyncio.Event().wait()

    async def _answer(self, route: Route) -> None:
        """Answer a request of the page.

        The first one is answered from its known HTML, others through the parent.
        """
        self._requests += 1
        number = self._requests
        request = route.request
        is_data = request.resource_type in ("script", "xhr", "fetch")
        is_wanted = is_data and request.method == "GET"
        if number == 1:
            content_type = "text/html"
            if self._options["charset"]:
                content_type += f"; charset={self._options['charset']}"
            await route.fulfill(body=self._page, content_type=content_type)
        elif request.resource_type == "stylesheet":
            await route.fulfill(body="", content_type="text/css")
        elif is_wanted and number <= _MOST_REQUESTS:
            self._waiting[number] = asyncio.get_running_loop().create_future()
            self._pipe.send({"number": number, "address": request.url})
            header, data = await self._waiting[number]
            if "headers" in header:
                await route.fulfill(body=data, headers=header["headers"])
            else:
                await route.abort()
        else:
            # With this error code, a page that tries to navigate away stays as it is.
            await route.abort("aborted")

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Pass on the parent's responses until it closes the pipe or exits.

        Then kill the browser and this process.
        """
        while True:
            message = self._pipe.receive()
            if message is None:
                break
            header, _ = message
            waiting = self._waiting[header["number"]]
            loop.call_soon_threadsafe(waiting.set_result, message)
        # The browser's driver exits with this process.
        with suppress(ProcessLookupError, AttributeError):
            if self._browser:
                os.killpg(self._browser, signal.SIGKILL)
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
        os._exit(0)


def main() -> None:
    """Render the page from standard input."""
    pipe = MessagePipe(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    # Keep libraries' output out of the responses.
    os.dup2(2, 1)
    os.environ["TMPDIR"] = os.environ["TEMP"] = mkdtemp(prefix="browser")
    message = pipe.receive()
    if message:
        options, page = message
        asyncio.run(Visit(options, page, pipe).run())


if __name__ == "__main__":
    main()
