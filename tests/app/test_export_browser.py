"""An exported page in a real browser: citations, requests, scripts and accessibility."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kit.reports import HARM, QUESTION, QUOTE, finished, harmful

from deep_research.app.exports._page import report_page
from deep_research.app.exports.finished import Finished

WIDTHS = (1280, 390)

pytestmark = pytest.mark.slow


class Browser(NamedTuple):
    """A browser tab without network access."""

    page: Any
    file: Path
    said: list[str]
    """Events without user action: console messages, errors, dialogs, requested addresses."""

    def open(self, report: Finished, width: int = 1280, scheme: str = "light") -> Any:
        """Open the page of a report."""
        self.file.write_text(report_page(report), encoding="utf-8")
        self.page.goto("about:blank")
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.emulate_media(media="screen", color_scheme=scheme)
        self.page.goto(self.file.as_uri())
        return self.page


@pytest.fixture(scope="module")
def started_browser(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Browser:
    file, said = tmp_path_factory.mktemp("pages") / "report.html", list[str]()

    def answer(route: Any) -> None:
        # Only the page's own file may be requested.
        if route.request.url.partition("#")[0] == file.as_uri():
            route.continue_()
        else:
            said.append(f"request: {route.request.url}")
            route.abort()

    page = chromium.new_page()
    page.on(
        "console",
        lambda what: said.append(f"console: {what}") if what.type in ("error", "warning") else None,
    )
    for event in ("pageerror", "dialog", "download", "popup"):
        page.on(event, lambda what, event=event: said.append(f"{event}: {what}"))
    page.route("**/*", answer)
    return Browser(page, file, said)


@pytest.fixture
def browser(started_browser: Browser) -> Iterator[Browser]:
    """The browser; fails the test if a page did anything without user action."""
    started_browser.said.clear()
    yield started_browser
    assert started_browser.said == []


def quote_of(page: Any, label: str) -> Any:
    """Click the citation with this label and return the opened quote."""
    page.locator(f'article button[aria-label^="{label}"]').first.click()
    opened = page.locator("aside:popover-open")
    assert opened.count() == 1
    return opened


@pytest.mark.parametrize("width", WIDTHS)
def test_a_citation_opens_its_quote_in_place(browser: Browser, width: int) -> None:
    page = browser.open(finished(), width)
    assert page.title() == QUESTION
    quote = quote_of(page, "1, supported")
    assert quote.is_visible() and QUOTE in quote.inner_text()
    assert "Register supported First lit" in " ".join(quote.inner_text().split())
    link = quote.get_by_role("link", name="Open the source")
    assert link.get_attribute("href").startswith(
        "https://lights.example/skerry#:~:text=First%20lit%20on%201%20March,"
    )
    box = quote.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= 800
    quote.get_by_role("button", name="Close").click()
    assert not quote.is_visible()


@pytest.mark.parametrize(
    ("language", "width", "scheme"),
    [("en", 1280, "light"), ("en", 390, "dark"), ("ar", 390, "light")],
)
def test_an_exported_page_meets_the_accessibility_rules(
    browser: Browser,
    barriers_of: Callable[[Any], list[Any]],
    language: str,
    width: int,
    scheme: str,
) -> None:
    page = browser.open(finished(language_code=language), width, scheme)
    assert barriers_of(page) == []
    page.locator("article button.unchecked").last.click()
    assert barriers_of(page) == []


@pytest.mark.fault("R16")
@pytest.mark.parametrize(
    "words", HARM, ids=lambda words: words[:20].encode("ascii", "replace").decode()
)
def test_hostile_fields_run_no_script_and_break_no_layout(browser: Browser, words: str) -> None:
    page = browser.open(harmful(words))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("script, img, iframe, object, base, form, input, svg").count() == 0
    assert page.locator("style").count() == page.locator("aside").count() == 1
    assert page.locator("body").is_visible()
    quote_of(page, "2, not checked by a model")
