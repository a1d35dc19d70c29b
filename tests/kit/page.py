"""The page in a real browser: a reader, what readers do, and a report with a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kit.commands import Point, WireDesk
from kit.openai_server import Received, Reply, say
from kit.server import Server
from kit.wire import FACTS, QUESTION, written

FURTHER = "And the harbour?"
LISTED = "Which keepers are listed in a table?"
TABLE = "| Event | Year |\n|---|---|\n| Moran began | 1901 [2] |\n| Light lit | 1844 [1] |\n| Moran ended | 1932 [2] |"
HELD = Point("researcher", "keeper")
Barriers = Callable[[Any], list[Any]]
WAIT = 240_000
"""Timeout of the page in milliseconds, for a busy machine."""


class Reader:
    """A browser that uses the server."""

    def __init__(self, browser: Any, server: Server) -> None:
        self.browser, self.server = browser, server
        self.said: list[str] = []
        """Console messages, page errors, failed requests and requests to other hosts."""
        self._context: Any = None

    @contextmanager
    def page(
        self, width: int = 1500, scheme: str = "light", height: int = 900, script: str = ""
    ) -> Iterator[Any]:
        """A page without stored data, opened at the address that the server prints."""
        self.said.clear()
        context = self._opened()
        page = self.tab(context)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.add_init_script(script)
        page.goto(f"{self.server.url}/#token={self.server.token}")
        page.locator(".depths").wait_for()
        assert "token" not in page.url
        try:
            yield page
        except BaseException:
            # The next test must not find a stopped clock or connections that are still open.
            context.close()
            self._context = None
            raise
        page.evaluate("localStorage.clear()")
        _, *pages = context.pages
        for opened in pages:
            opened.close()
        assert self.said == []

    def _opened(self) -> Any:
        """The context of all pages: one of its own would cost each page the start of a process,
        which a page of the server keeps."""
        if self._context is None:
            # What is animated is drawn anew all the time, by the processor.
            self._context = self.browser.new_context(reduced_motion="reduce")
            self._context.set_default_timeout(WAIT)
            self._context.new_page().goto(f"{self.server.url}/ok")
        return self._context

    def tab(self, context: Any) -> Any:
        page = context.new_page()
        page.on("console", lambda message: self.said.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", self._watch)
        page.on("response", self._check)
        return page

    def _check(self, response: Any) -> None:
        if response.status >= 400:
            self.said.append(f"status {response.status}: {response.url}")

    def _watch(self, request: Any) -> None:
        if not request.url.startswith((self.server.url, "blob:")):
            self.said.append(f"request: {request.url}")


@contextmanager
def served(desk: WireDesk, browser: Any) -> Iterator[Reader]:
    """A reader of a server on this desk, which has no documents."""
    settings: dict[str, Any] = {
        "DEEP_RESEARCH_DOCS": "",
        "DEEP_RESEARCH_SERVER_REQUIRE_TOKEN": "true",
    }
    with Server(desk.desk.folder, **settings) as server:
        yield Reader(browser, server)


def barriers_at(page: Any, barriers_of: Barriers, *widths: int) -> list[Any]:
    """Barriers for people at these widths, the last of them in both schemes of colours and each
    before it in one; nothing is wider than the page."""
    *others, narrowest = widths
    shown = [*zip(others, ("dark", "light"), strict=False)]
    found = list[Any]()
    for width, scheme in (*shown, (narrowest, "light"), (narrowest, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        found += barriers_of(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    return found


def ask(page: Any, question: str = QUESTION) -> None:
    page.get_by_role("textbox", name="Question").fill(question)
    page.get_by_role("button", name="Start research").click()


def reply(page: Any, words: str, verb: str) -> None:
    """Type `words` and send them as soon as the button named `verb` is shown."""
    page.locator("#words").fill(words)
    page.locator(".composer").get_by_role("button", name=verb, exact=True).click()


def choose_edit(page: Any) -> None:
    """Have the words in the box change the report."""
    page.get_by_role("radio", name="Change the report").check()


def show_options(page: Any) -> None:
    page.locator("summary", has_text="Options").click()


def act_on(page: Any, verb: str) -> None:
    """Choose an entry in the menu of the first run in the list."""
    row = page.locator(".runs li").first
    row.locator(".menu summary").click()
    row.get_by_role("button", name=verb).click()


def tabled(request: Received) -> Reply:
    """A report: a table if the question asks for one, otherwise the facts in the findings."""
    if LISTED in request.prompt:
        return say(f"{FACTS['light']} [1]\n\n{TABLE}")
    return written(request)
