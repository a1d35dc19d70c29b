"""The child process that shows one page in a browser: it passes on what the page asks for, and sends its HTML.

The browser has no network of its own: every name, that of its proxy included, leads nowhere, so that whatever is not
answered here (WebSockets, WebRTC, prefetching) fails. A page that floods it with requests floods this process alone.
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
from typing import IO, Any

from playwright.async_api import BrowserType, Error, Route, async_playwright

from .documents.worker import receive, send

SWITCHES = (
    "--proxy-server=http://nowhere.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=512",
)
SETTLING_SHARE = 0.3
"""Share of the time that a page has to show text, and again to finish loading, before it is read as it is."""


class Visit:
    """One page in a browser; `order` holds its address, its charset, the command of the browser, and the limits."""

    def __init__(self, order: dict[str, Any], page: bytes, answers: IO[bytes]) -> None:
        self._order, self._page, self._answers = order, page, answers
        self._asked, self._browser = 0, 0
        self._waiting: dict[int, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}

    async def run(self) -> None:
        """Send the page's HTML (UTF-8), or what the browser says of its failure; goes on until the process is ended."""
        threading.Thread(target=self._listen, args=[asyncio.get_running_loop()], daemon=True).start()
        try:
            async with async_playwright() as playwright:
                html = await self._html(playwright.chromium)
            send(self._answers, {}, html.encode(errors="replace")[: self._order["max_page_bytes"]])
        except (Error, ValueError) as error:
            send(self._answers, {"error": str(error)})
        await asyncio.Event().wait()

    async def _html(self, chromium: BrowserType) -> str:
        program, *switches = shlex.split(self._order["command"])
        browser = await chromium.launch(
            executable_path=shutil.which(program) or chromium.executable_path,
            args=[*switches, *SWITCHES],
            chromium_sandbox=True,
        )
        processes = await (await browser.new_browser_cdp_session()).send("SystemInfo.getProcessInfo")
        self._browser = next(one["id"] for one in processes["processInfo"] if one["type"] == "browser")
        context = await browser.new_context(accept_downloads=False, service_workers="block")
        context.set_default_timeout(SETTLING_SHARE * self._order["render_seconds"] * 1000)
        await context.route("**/*", self._answer)
        page = await context.new_page()
        await page.goto(self._order["address"], wait_until="commit")
        with suppress(Error):
            await page.wait_for_function("() => document.body && document.body.innerText.trim().length > 250")
            await page.wait_for_load_state("networkidle")
        return await page.content()

    async def _answer(self, route: Route) -> None:
        self._asked += 1
        request, number = route.request, self._asked
        is_wanted = request.resource_type in ("script", "xhr", "fetch") and request.method == "GET"
        if number == 1:
            charset = self._order["charset"]
            await route.fulfill(
                body=self._page, content_type=f"text/html; charset={charset}" if charset else "text/html"
            )
        elif request.resource_type == "stylesheet":
            await route.fulfill(body="", content_type="text/css")
        elif is_wanted and number <= self._order["render_requests"]:
            self._waiting[number] = asyncio.get_running_loop().create_future()
            send(self._answers, {"number": number, "address": request.url})
            header, data = await self._waiting[number]
            await (route.fulfill(body=data, headers=header["headers"]) if "headers" in header else route.abort())
        else:
            # By this code, a page that wants to go elsewhere stays as it is.
            await route.abort("aborted")

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        while message := receive(sys.stdin.buffer):
            loop.call_soon_threadsafe(self._waiting[message[0]["number"]].set_result, message)
        # The parent has closed the pipe, or is gone. The driver ends by itself as soon as this process has ended.
        with suppress(ProcessLookupError, AttributeError):
            if self._browser:
                os.killpg(self._browser, signal.SIGKILL)
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
        os._exit(0)


def main() -> None:
    """Show the page that comes by standard input."""
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not get among the answers.
    os.dup2(2, 1)
    os.environ["TMPDIR"] = os.environ["TEMP"] = mkdtemp(prefix="browser")
    if message := receive(sys.stdin.buffer):
        asyncio.run(Visit(*message, answers).run())


if __name__ == "__main__":
    main()
