"""The page in a real browser, before a real server, with models, a search engine and a web on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from openai_server import Received, Reply, fail, say, use
from server import Server
from wire import END, FACTS, QUESTION, hand_out
from wire_desk import Point, WireDesk, wire_desk

UNCLEAR = "Compare them?"
LOCKED = "What is behind the locked door?"
FURTHER = "And the harbour?"
CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium here"),
]
HELD = Point("researcher", "keeper")
WAIT = 60_000
"""Milliseconds until a page has what it waits for, on a busy machine."""


def clarify(request: Received) -> Reply:
    if LOCKED in request.prompt:
        return fail(401, "Incorrect API key provided.", code="invalid_api_key")
    is_unclear = UNCLEAR in request.prompt and "The light" not in request.prompt
    return say("Which of **them**?") if is_unclear else use(("generate_plan", {}))


def orchestrate(request: Received) -> Reply:
    """Send out two researchers for a question, one more for the further one."""
    if FURTHER in request.prompt:
        return END if FACTS["harbour"] in request.prompt else hand_out("harbour")
    return END if FACTS["light"] in request.prompt else hand_out("light", "keeper")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    script = {"clarifier": clarify, "orchestrator": orchestrate}
    with wire_desk(tmp_path_factory.mktemp("wire"), **script) as desk:
        yield desk


@pytest.fixture(scope="module")
def server(desk: WireDesk) -> Iterator[Server]:
    server = Server(desk.desk.folder, DEEP_RESEARCH_DOCS="", DEEP_RESEARCH_SERVER_REQUIRE_TOKEN="true")
    server.start()
    yield server
    server.stop()


class Reader:
    """A browser before the server."""

    def __init__(self, browser: Any, server: Server) -> None:
        self.browser, self.server = browser, server
        self.said: list[str] = []
        """What went wrong in it: messages of the console, errors of the page, requests to anybody else."""

    @contextmanager
    def page(self, width: int = 1500, scheme: str = "light") -> Iterator[Any]:
        """A page of a new reader, which has opened the address that the server prints."""
        self.said.clear()
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(WAIT)
        page = self.tab(context)
        page.goto(f"{self.server.url}/#token={self.server.token}")
        page.locator("#question").wait_for()
        assert "token" not in page.url
        yield page
        context.close()
        assert self.said == []

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


@pytest.fixture(scope="module")
def reader(server: Server) -> Iterator[Reader]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
        started = driver.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        yield Reader(started, server)
        started.close()


def ask(page: Any, question: str = QUESTION) -> None:
    page.get_by_role("textbox", name="Question").fill(question)
    page.get_by_role("button", name="Start research").click()


def reply(page: Any, words: str, verb: str) -> None:
    """Type `words` and send them, once the page has come so far that they are sent as `verb` says."""
    page.get_by_role("complementary").locator("textarea").fill(words)
    page.get_by_role("complementary").get_by_role("button", name=verb, exact=True).click()


def faults_of(page: Any) -> list[Any]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


def test_a_whole_run_from_the_question_back_to_the_further_question(
    reader: Reader, desk: WireDesk, tmp_path: Path
) -> None:
    with reader.page() as page:
        page.get_by_label("Show me the plan first").check()
        ask(page, UNCLEAR)
        page.get_by_text("Which of them?").wait_for()
        reply(page, "The light and its keeper", "Answer")
        plan = page.get_by_label("The plan; change it as you like")
        plan.wait_for()
        assert page.locator("#words").is_hidden()
        assert plan.input_value() == "1. The light\n2. Its keeper\n3. The harbour"
        assert page.get_by_text("Estimated:").is_visible()
        plan.fill("1. The light\n2. Its keeper")
        desk.holds.points.add(HELD)
        page.get_by_role("button", name="Start research").click()
        cards = page.locator(".card")
        cards.nth(0).get_by_text("done").wait_for()
        assert [card.locator("h3").inner_text() for card in cards.all()] == ["light", "keeper"]
        assert cards.nth(1).get_by_text("at work").is_visible()
        # What is shown is what the server knows, whoever looks, and whenever.
        page.reload()
        page.locator(".card").nth(0).get_by_text("done").wait_for()
        other = reader.tab(page.context)
        other.goto(page.url)
        other.locator(".card").nth(0).get_by_text("done").wait_for()
        other.get_by_role("button", name="Stop").click()
        other.get_by_role("button", name="Go on").first.wait_for()
        page.get_by_text("The run was stopped").wait_for()
        reply(page, "Mind the years", "Go on")
        report = page.locator("#report article")
        report.wait_for()
        other.locator("#report article").wait_for()
        assert FACTS["keeper"] in report.inner_text()
        assert any("Mind the years" in request.prompt for request in desk.lab.models.requests)
        page.locator("#report button.cite").first.click()
        quote = page.locator("aside.quote:popover-open")
        assert FACTS["light"] in quote.inner_text()
        quote.get_by_role("button", name="Show it in the source").click()
        assert page.locator("#source mark").first.inner_text() == FACTS["light"]
        page.locator("#source").get_by_role("button", name="Close").click()
        page.locator("summary", has_text="Export").click()
        with page.expect_download() as loaded:
            page.get_by_role("button", name="Markdown").click()
        loaded.value.save_as(tmp_path / "report.md")
        assert FACTS["light"] in (tmp_path / "report.md").read_text("utf-8")
        reply(page, FURTHER, "Ask")
        page.get_by_role("button", name="Start research").click()
        report.get_by_text(FACTS["harbour"]).wait_for()
        assert page.get_by_text("An earlier report").count() == 1
        assert page.locator(".messages .user").all_inner_texts() == [
            UNCLEAR, "The light and its keeper", "1. The light\n2. Its keeper", "Mind the years", FURTHER, "approve",
        ]  # fmt: skip


def test_what_is_said_to_researchers_at_work_reaches_them(reader: Reader, desk: WireDesk) -> None:
    with reader.page() as page:
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".card").nth(0).get_by_text("done").wait_for()
        before = len(desk.lab.models.requests)
        reply(page, "The keeper matters most", "Send")
        words = page.get_by_role("complementary").locator("textarea")
        pytest.importorskip("playwright.sync_api").expect(words).to_have_value("", timeout=WAIT)
        words.fill("And the harbour")
        page.locator("#report article").wait_for()
        assert words.input_value() == "And the harbour"
        assert any("The keeper matters most" in one.prompt for one in desk.lab.models.requests[before:])
        assert FACTS["keeper"] in page.locator("#report article").inner_text()


def test_why_a_run_failed_is_said_now_and_later(reader: Reader) -> None:
    with reader.page() as page:
        ask(page, LOCKED)
        page.get_by_text("check OPENAI_API_KEY").first.wait_for()
        page.reload()
        page.get_by_text("check OPENAI_API_KEY").first.wait_for()
        assert page.locator(".state").inner_text() == "Failed"
        assert page.get_by_role("button", name="Go on").first.is_visible()
    log = reader.server.log.read_text("utf-8")
    assert "KeyRefused" in log and "Traceback" not in log


def test_runs_of_the_command_line_are_there_and_go_on(reader: Reader, desk: WireDesk) -> None:
    desk.desk.run("ask", UNCLEAR, "--thread", "from-the-command-line", "--data-dir", str(reader.server.data))
    with reader.page() as page:
        page.get_by_role("navigation").get_by_role("link").filter(has_text="Waits for you").first.click()
        page.get_by_text("Which of them?").wait_for()
        reply(page, "The light and its keeper", "Answer")
        page.locator("#report article").wait_for()
        assert FACTS["light"] in page.locator("#report article").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(1500, "light"), (1100, "dark"), (390, "light")])
def test_nobody_is_kept_from_using_it(reader: Reader, desk: WireDesk, width: int, scheme: str) -> None:
    with reader.page(width, scheme) as page:
        assert faults_of(page) == []
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".card").nth(0).get_by_text("done").wait_for()
        assert faults_of(page) == []
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Go on").first.click()
        page.locator("#report button.cite").first.wait_for()
        assert faults_of(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_question_is_asked_and_its_sources_are_read_by_keyboard_alone(reader: Reader) -> None:
    with reader.page() as page:
        page.keyboard.type(QUESTION)
        page.keyboard.press("Control+Enter")
        page.locator("#report button.cite").first.wait_for()
        active = "document.activeElement"
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate(f"{active}.matches('#report button.cite')"):
                break
        page.keyboard.press("Enter")
        assert page.locator("aside.quote:popover-open").count() == 1
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.textContent") == "Show it in the source"
        page.keyboard.press("Enter")
        page.locator("#source mark").first.wait_for()
        page.keyboard.press("Escape")
        assert not page.locator("#source").is_visible()
        page.keyboard.press("Escape")
        assert page.locator("aside.quote:popover-open").count() == 0


def test_whoever_has_no_token_is_asked_for_it(reader: Reader) -> None:
    with reader.page() as page:
        page.evaluate("localStorage.clear()")
        page.goto("about:blank")
        page.goto(reader.server.url)
        page.get_by_label("Token").fill(reader.server.token)
        assert reader.said and all("401" in words for words in reader.said)
        reader.said.clear()
        page.get_by_role("button", name="Go on").click()
        page.locator("#question").wait_for()
