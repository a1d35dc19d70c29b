"""What a reader does on the page beside reading: attaches files, orders a plan, searches runs, and
takes a report along. In a real browser, as in `test_page.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kit.commands import WireDesk, wire_desk
from kit.server import Server
from kit.wire import QUESTION
from test_page import (
    FURTHER,
    LISTED,
    Reader,
    ask,
    clarify,
    look_up,
    orchestrate,
    reply,
    show_options,
    write,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
BIG_BYTES, MOST_BYTES = 80_000_000, 90_000_000
UPLOADS = {"MAX_DOCUMENT_BYTES": MOST_BYTES, "SERVER_BODY_BYTES": 4 * MOST_BYTES}
"""Settings under which a file of `BIG_BYTES` is accepted."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    script = {"clarifier": clarify, "orchestrator": orchestrate, "researcher": look_up}
    with wire_desk(tmp_path_factory.mktemp("wire"), writer=write, **script) as desk:
        yield desk


@pytest.fixture(scope="module")
def server(desk: WireDesk) -> Iterator[Server]:
    settings = {f"DEEP_RESEARCH_{name}": str(value) for name, value in UPLOADS.items()}
    with Server(
        desk.desk.folder,
        DEEP_RESEARCH_DOCS="",
        DEEP_RESEARCH_SERVER_REQUIRE_TOKEN="true",
        **settings,
    ) as server:
        yield server


@pytest.fixture(scope="module")
def reader(server: Server, chromium: Any) -> Reader:
    return Reader(chromium, server)


@pytest.fixture
def expect() -> Any:
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=240_000)
    return sync_api.expect


def lines_of(page: Any) -> list[str]:
    return [line.input_value() for line in page.locator(".lines textarea").all()]


def test_steps_of_a_plan_are_moved_by_buttons_and_keys(reader: Reader) -> None:
    with reader.page() as page:
        show_options(page)
        # A limit of time would read as an estimate.
        assert "limit" not in page.locator(".ask").inner_text()
        page.get_by_label("Show me the plan first").check()
        ask(page)
        page.locator(".lines textarea").first.wait_for()
        assert lines_of(page) == ["The light", "Its keeper", "The harbour"]
        up = page.get_by_role("button", name="Move up: step 3")
        up.focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        # At the top, nothing moves and the focus stays.
        page.keyboard.press("Enter")
        assert lines_of(page) == ["The harbour", "The light", "Its keeper"]
        assert page.locator("button:focus").get_attribute("aria-label") == "Move up: step 1"
        page.get_by_label("Step 3", exact=True).focus()
        page.keyboard.press("Alt+ArrowUp")
        assert page.locator("#said").inner_text() == "Moved up: it is now number 2."
        assert page.locator("textarea:focus").get_attribute("aria-label") == "Step 2"
        assert page.locator(".lines li > .quiet").all_inner_texts() == ["1.", "2.", "3."]
        page.get_by_role("button", name="Remove step 3").click()
        assert page.locator("textarea:focus").get_attribute("aria-label") == "Step 2"
        page.get_by_role("button", name="Start research").click()
        page.locator(".report article").wait_for()
        plan = page.locator("summary", has_text="Plan, 2 steps, edited by you")
        plan.click()
        steps = page.locator("[data-part=plan] .prose li").all_inner_texts()
        assert steps == ["The harbour", "Its keeper"]


TIED = """async () => {
  const {moveLine, planOf, review} = await import("/page/plan.js");
  const plan = ["# Plan", "", "1. The light", "2. Its keeper", "3. Both (builds on 2)"].join("\\n");
  const form = document.body.appendChild(review({waiting: {plan}, estimate: ""}));
  const line = (number) => form.querySelector(`[aria-label="Step ${number}"]`).closest("li");
  const said = [moveLine(line(3), "up"), moveLine(line(1), "down")];
  form.remove();
  return [...said, planOf(form)];
}"""
"""Moves steps of a plan in which one step builds on another."""


def test_a_step_stays_below_the_one_that_it_builds_on(reader: Reader) -> None:
    with reader.page() as page:
        assert page.evaluate(TIED) == [
            "Step 3 builds on step 2, so it stays below it.",
            "Moved down: it is now number 2.",
            "# Plan\n\n2. Its keeper\n1. The light\n3. Both (builds on 2)",
        ]


def test_unsent_words_are_kept_over_a_reload_each_in_its_view(reader: Reader, expect: Any) -> None:
    with reader.page() as page:
        question, words = page.get_by_role("textbox", name="Question"), page.locator("#words")
        question.fill("Half a quest")
        page.reload()
        expect(question).to_have_value("Half a quest")
        ask(page)
        page.locator(".report article").wait_for()
        words.fill("And the ha")
        page.reload()
        page.locator(".report article").wait_for()
        expect(words).to_have_value("And the ha")
        page.get_by_role("link", name="New question").click()
        expect(question).to_have_value("")
        ask(page, LISTED)
        page.locator(".report article table").wait_for()
        expect(words).to_have_value("")
        page.go_back()
        page.go_back()
        expect(page.locator("h1.question")).to_have_text(QUESTION)
        expect(words).to_have_value("And the ha")
        reply(page, FURTHER, "Ask")
        page.locator(".report article").nth(1).wait_for()
        page.reload()
        page.locator(".report article").nth(1).wait_for()
        expect(words).to_have_value("")
