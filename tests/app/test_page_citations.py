"""Citations of a report on the page: numbers, the sentences that open their passage, and the cited
file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kit.files import drawn
from kit.page import Reader, ask, barriers_at
from kit.server import Server

FEE = "What is the mooring fee at Brannock Pier, and how long is its south berth?"
PAGES = (
    "Brannock Pier and its two berths, as the harbour office of the north lists them",
    "The pier was built of oak in 1790.",
    "The mooring fee at Brannock Pier is 47 crowns a night.",
    "The south berth of Brannock Pier is 44 metres long.",
)


pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("server")
    token, models = "DEEP_RESEARCH_SERVER_REQUIRE_TOKEN", "DEEP_RESEARCH_MODELS"
    settings: dict[str, Any] = {token: "true", models: "extractive"}
    server = Server(folder, **settings)
    pages = [[f"BT /F1 12 Tf 72 720 Td ({words}) Tj ET".encode()] for words in PAGES]
    (server.docs / "tariff.pdf").write_bytes(drawn(*pages))
    with server:
        yield Reader(chromium, server)


OPEN = "aside.quote:popover-open"


def test_each_cited_sentence_has_a_number_and_opens_its_passage_and_file(
    reader: Reader, barriers_of: Callable[[Any], list[Any]]
) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    with reader.page() as page:
        ask(page, FEE)
        chips = page.locator(".report article button.cite")
        chips.nth(1).wait_for()
        # Both sentences cite the same source, and each has its number and its own quote.
        sentences = page.locator(".report article .claim.opens")
        assert chips.all_inner_texts() == ["1"] * sentences.count()
        fee, berth = (sentences.filter(has_text=words).first for words in ("47", "44"))
        for sentence, figure, other in ((fee, "47", "44 metres"), (berth, "44", "47 crowns")):
            sentence.click()
            page.locator(OPEN).wait_for()
            quote = page.locator(f"{OPEN} blockquote").inner_text()
            assert figure in quote and other not in quote
            assert page.locator(".claim.lit").inner_text() == sentence.inner_text()
            page.keyboard.press("Escape")
            expect(page.locator(f"{OPEN}, .claim.lit")).to_have_count(0)
        fee.click()
        page.locator(OPEN).wait_for()
        assert barriers_at(page, barriers_of, 1500, 1100, 390) == []
        page.set_viewport_size({"width": 1500, "height": 900})
        page.keyboard.press("Escape")
        # Selected text opens nothing, and a caret in a sentence does.
        page.clock.install()
        fee.dblclick()
        page.clock.run_for(1000)
        assert page.locator(OPEN).count() == 0
        assert page.evaluate("getSelection().toString()").strip()
        box = fee.bounding_box()
        page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 200, box["y"] + box["height"] / 2)
        page.mouse.up()
        page.clock.run_for(1000)
        assert page.locator(OPEN).count() == 0
        assert len(page.evaluate("getSelection().toString()")) > 10
        page.keyboard.press("Enter")
        page.locator(OPEN).wait_for()
        # The file opens from the card and from the source, at the page of the passage.
        with page.context.expect_page() as opened:
            page.locator(OPEN).get_by_role("button", name="Open the file at page 3").click()
        opened.value.wait_for_url("blob:**#page=3")
        page.bring_to_front()
        if not page.locator(OPEN).count():
            chips.first.click()
        page.locator(OPEN).get_by_role("button", name="Show it in the source").click()
        file = page.locator("#source").get_by_role("button", name="Open the file at page")
        with page.context.expect_page() as opened:
            file.click()
        opened.value.wait_for_url("blob:**#page=*")
        page.locator("#source").get_by_role("button", name="Close").click()
        # On a phone, nothing that can be opened is wider than the page, long titles included.
        page.locator(".checked > summary").click()
        assert page.locator(".checked .evidence button", has_text=PAGES[0]).count()
        page.evaluate(
            "for (const part of document.querySelectorAll('#column details')) part.open = true"
        )
        assert barriers_at(page, barriers_of, 390) == []


SPARE = """() => {
  const sentence = document.querySelector(".claim.lit").getBoundingClientRect();
  const sheet = document.querySelector("aside.quote:popover-open").getBoundingClientRect();
  return Math.min(sentence.top, sheet.top - sentence.bottom);
}"""
"""The space above the sentence of an open sheet, or between the two."""


def test_on_a_phone_a_sentence_stands_above_the_sheet_with_its_passage(reader: Reader) -> None:
    with reader.page(width=390, height=600) as page:
        ask(page, FEE)
        sentences = page.locator(".report article .claim.opens")
        sentences.nth(1).wait_for()
        page.locator(".report-part .tools").wait_for()
        for sentence in sentences.all():
            sentence.click()
            page.locator(OPEN).wait_for()
            page.wait_for_function("document.querySelector('.claim.lit')")
            assert page.evaluate(SPARE) > 0
            page.keyboard.press("Escape")


BESIDE = """async () => {
  const {linkSentences} = await import("/page/sentences.js");
  const {passagesBeside} = await import("/page/report.js");
  const {parsed} = await import("/page/dom.js");
  const calc = '<button class="cite calc" popovertarget="c">calc 1</button>';
  const cite = '<button class="cite" popovertarget="q">4</button>';
  const claim = '<span class="claim" data-claim="0">It made a provision</span>';
  const report = parsed(`<article><p>${claim} ${cite} ${calc}; that is 19 % ${calc}</p></article>
    <aside class="quote calculation"><ul><li>19 <button class="cite">4</button> <q>19 of them</q></li>
    <li>3 <button class="cite">4</button></li></ul></aside>
    <aside class="quote"><blockquote>The demand</blockquote>
    <ul><li>3 <button class="cite">5</button></li></ul></aside>`).body;
  await linkSentences(report);
  const sentences = [...report.querySelectorAll(".calc")].map((chip) => chip.dataset.sentence);
  return [sentences, [...report.querySelectorAll("li button")].map(passagesBeside)];
}"""
"""The sentences of two calculations, and the passages that their inputs mark in a source."""


def test_a_calculation_marks_its_own_words_or_none(reader: Reader) -> None:
    with reader.page() as page:
        assert page.evaluate(BESIDE) == [["0", ""], [["19 of them"], [], []]]
