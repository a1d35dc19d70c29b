"""What a reader has in view stays there: while a report is written, and when it has been checked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kit.commands import Point, WireDesk, wire_desk
from kit.openai_server import PIECE, Received, Reply, say, use
from kit.page import Reader, ask, served
from kit.wire import FACTS, verified

SECTIONS = 8
LAST = "So much for the inlets."
LONG = "\n\n".join(
    f"## Inlet {number}\n\n{FACTS['light']} [1] {FACTS['keeper']} [2] "
    f"{'The water is deep and the rocks are old. ' * 12}"
    f"\n\n- Its depth is {number} fathoms.\n- Nobody lives there.\n\n"
    f"In inlet {number}, the boats lie at anchor. {'They wait for the tide. ' * 9}"
    for number in range(SECTIONS)
)
LONG += f"\n\n{LAST}"
"""A report of 1,700 words, which is longer than any window; the check marks all depths."""
SENT = LONG.index("In inlet 3") // PIECE + 3
"""How many pieces a writer sends that falls silent in a paragraph."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CHECKED = threading.Event()
"""Set when the model may judge a report."""


def verify(request: Received) -> Reply:
    CHECKED.wait()
    if "rewrite_sentences" in request.tools:
        return use(("rewrite_sentences", {"sentences": []}))
    return verified(request)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    script = {"writer": lambda _: say(LONG), "verifier": verify}
    with wire_desk(tmp_path_factory.mktemp("wire"), **script) as desk:
        yield desk
        CHECKED.set()


@pytest.fixture(scope="module")
def reader(desk: WireDesk, chromium: Any) -> Iterator[Reader]:
    with served(desk, chromium) as reader:
        yield reader


AT_REST = """(least) => {
  const place = `${scrollY} ${document.documentElement.scrollHeight}`;
  window.restingFrames = place === window.lastPlace && scrollY >= least ? window.restingFrames + 1 : 0;
  window.lastPlace = place;
  return window.restingFrames > 5;
}"""
"""Waits until the page is scrolled: what comes into view is laid out a frame later, and moves the
rest."""
HOLD = """() => {
  const paragraphs = [...document.querySelectorAll("#draft p")];
  window.held = paragraphs.find((paragraph) => paragraph.getBoundingClientRect().top > 70);
  window.was = window.held.getBoundingClientRect().top;
  window.blocks = [...document.querySelectorAll("#draft > div > *")];
  window.blank = 0;
  new MutationObserver(() => {
    if (!document.querySelector(".text")?.textContent.includes("So much")) window.blank += 1;
  }).observe(document.body, {childList: true, subtree: true});
}"""
"""Remembers all blocks, and the first paragraph in view and where it is; counts blank moments."""
KEPT = """() => ({
  moved: Math.round(window.held.getBoundingClientRect().top - window.was),
  kept: window.blocks.filter((block) => block.isConnected).length,
  blank: window.blank,
})"""
END = 100_000
"""More pixels than any page has."""


@pytest.mark.parametrize(("width", "pixels"), [(1440, 0), (1440, 1500), (1440, END), (390, 1500)])
def test_the_checked_report_leaves_the_paragraph_in_view_where_it_was(
    reader: Reader, width: int, pixels: int
) -> None:
    CHECKED.clear()
    with reader.page(width, height=850) as page:
        ask(page)
        page.locator("#draft", has_text=LAST).wait_for()
        page.mouse.move(width / 2, 400)
        page.mouse.wheel(0, pixels)
        page.wait_for_function(AT_REST, arg=min(pixels, 1500))
        page.evaluate(HOLD)
        CHECKED.set()
        page.locator(".report button.cite").first.wait_for()
        assert page.locator(".report article").get_by_text("(not verified)").count()
        blocks = 4 * SECTIONS + 1
        assert page.evaluate(KEPT) == {"moved": 0, "kept": blocks, "blank": 0}


IN_PIECES = """async () => {
  const {becomeReport, chunksOf} = await import("/page/place.js");
  const [column, dock] = ["#column", "#dock"].map((name) => document.querySelector(name));
  const lines = () => Array.from({length: 300}, (_, at) => {
    const line = document.createElement("p");
    line.textContent = `Line ${at} of the log.`;
    return line;
  });
  const text = document.createElement("article");
  text.className = "report";
  text.append(...chunksOf(lines()));
  column.replaceChildren(text);
  dock.hidden = false;
  text.children[10].scrollIntoView();
  // What comes into view is laid out a frame later.
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  const finished = lines();
  for (const line of finished) line.dataset.checked = "";
  const changed = [];
  const note = () => changed.push([...text.querySelectorAll("p")].flatMap((line, at) => "checked" in line.dataset ? [at] : []));
  await becomeReport(text, finished, 56, async () => note());
  note();
  dock.hidden = true;
  return changed.map((each) => [each.length, each.includes(205), each.includes(0)]);
}"""
"""Replaces a draft of 300 blocks, of which those from block 200 on are in view; after each piece:
how many blocks are changed, and whether one in view and the first are."""


def test_a_long_report_replaces_its_draft_in_pieces_first_what_is_in_view(reader: Reader) -> None:
    with reader.page(height=850) as page:
        changed = page.evaluate(IN_PIECES)
        assert [count for count, *_ in changed] == [60, 120, 180, 240, 300]
        assert changed[0][1:] == [True, False]


GROW = """async () => {
  const {draw, latest} = await import("/page/column.js");
  const rest = document.querySelector("#draft");
  const places = () => [scrollY, rest.getBoundingClientRect().bottom];
  const [before, end] = places();
  latest().story.draft += "\\n\\nThe tide comes in. ".repeat(20);
  draw();
  const [after, newEnd] = places();
  return [Math.round(after - before), Math.round(newEnd - end)];
}"""
"""Adds to the draft; returns by how many pixels the page was scrolled, and its end moved."""


AT_END = """() => {
  scrollTo(0, document.documentElement.scrollHeight);
  const [draft, dock] = ["#draft", "#dock"].map((name) => document.querySelector(name));
  const isThere = draft.getBoundingClientRect().bottom <= dock.getBoundingClientRect().top + 1;
  window.framesAtEnd = isThere ? (window.framesAtEnd ?? 0) + 1 : 0;
  return window.framesAtEnd > 5;
}"""
"""Scrolls to the end, which moves as what comes into view is laid out, until it stays there."""


def test_a_growing_draft_is_followed_only_by_a_reader_at_its_end(
    reader: Reader, desk: WireDesk
) -> None:
    CHECKED.set()
    desk.holds.points.add(Point("writer", results=4))
    # The first piece has no text.
    desk.holds.pieces = 1 + SENT
    with reader.page(height=850) as page:
        ask(page)
        desk.holds.wait_for(1)
        # From here on nothing is added but by `GROW`.
        page.locator("#draft", has_text=LONG[: SENT * PIECE].splitlines()[-1]).wait_for()
        page.mouse.move(700, 400)
        # The first words stay in view: people begin to read there.
        scrolled, moved = page.evaluate(GROW)
        assert scrolled == 0 and moved > 100
        page.wait_for_function(AT_END)
        scrolled, moved = page.evaluate(GROW)
        assert scrolled > 100 and abs(moved) <= 1
        before = page.evaluate("scrollY")
        page.mouse.wheel(0, -500)
        page.wait_for_function(f"() => scrollY < {before}")
        scrolled, moved = page.evaluate(GROW)
        assert scrolled == 0 and moved > 100
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped").wait_for()
