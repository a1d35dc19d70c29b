"""What a reader does on the page beside reading: attaches files, orders a plan, searches runs, and
takes a report along. In a real browser, as in `test_page.py`."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.commands import WireDesk, wire_desk
from kit.page import (
    FURTHER,
    HELD,
    LISTED,
    Barriers,
    Reader,
    act_on,
    ask,
    barriers_at,
    choose_edit,
    reply,
    show_options,
    tabled,
)
from kit.server import BROKEN, Server
from kit.wire import FACTS, QUESTION, plain_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
BIG_BYTES, MOST_BYTES = 80_000_000, 90_000_000
"""Size of a large file, and the largest size that the server accepts."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    orchestrate = plain_run(("light", "keeper"))["orchestrator"]
    folder = tmp_path_factory.mktemp("wire")
    with wire_desk(folder, orchestrator=orchestrate, writer=tabled) as desk:
        yield desk


@pytest.fixture(scope="module")
def server(desk: WireDesk) -> Iterator[Server]:
    with Server(
        desk.desk.folder,
        DEEP_RESEARCH_DOCS="",
        DEEP_RESEARCH_SERVER_REQUIRE_TOKEN="true",
        DEEP_RESEARCH_MAX_DOCUMENT_BYTES=str(MOST_BYTES),
        DEEP_RESEARCH_SERVER_BODY_BYTES=str(4 * MOST_BYTES),
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


def sized(path: Path, size: int) -> Path:
    """A text file of this size, of which the disk holds nothing."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


def packed(members: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members.items():
            opened.writestr(name, data)
    return archive.getvalue()


PIECES = """
window.pieces = [];
const read = FileReader.prototype.readAsDataURL;
FileReader.prototype.readAsDataURL = function (piece) {
  window.pieces.push(piece.size);
  return read.call(this, piece);
};
"""
"""Records the size of each piece of a file that the page encodes."""


def test_files_that_the_server_would_refuse_are_refused_when_they_are_picked(
    reader: Reader, expect: Any, barriers_of: Barriers, tmp_path: Path
) -> None:
    bomb = packed({"word/document.xml": bytes(40_000_000)})
    files = {
        "tune.mp3": b"ID3",
        "old.doc": b"Words",
        "empty.txt": b"",
        "torn.pdf": BROKEN,
        "bomb.docx": bomb,
        "half.docx": bomb[:1000],
        "photo.png": b"no picture",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    picked = [*(tmp_path / name for name in files), sized(tmp_path / "big.txt", MOST_BYTES + 1)]
    broken = "it is broken or of another type than its name says"
    with reader.page(script=PIECES) as page:
        page.locator(".ask [data-files]").set_input_files(picked)
        expect(page.locator("#files li")).to_have_text(
            [
                "tune.mp3: .mp3 files are not read×",
                "old.doc: .doc files are not read; save it as .docx×",
                "empty.txt: it is empty×",
                f"torn.pdf: {broken}×",
                "bomb.docx: it is packed suspiciously small: 0 MB unpack to 40 MB×",
                f"half.docx: {broken}×",
                f"photo.png: {broken}×",
                "big.txt: it has 90 MB; at most 90 MB can be sent×",
            ]
        )
        assert page.evaluate("window.pieces") == []
        assert barriers_at(page, barriers_of, 1500, 390) == []
        for name in (*files, "big.txt"):
            page.get_by_role("button", name=f"Remove {name}").click()
        assert page.locator("#files li").count() == 0


def test_a_file_of_80_mb_is_read_in_pieces_and_a_sent_one_arrives_whole(
    reader: Reader, expect: Any, tmp_path: Path
) -> None:
    words = "".join(f"Line {number} of the log.\n" for number in range(50_000)).encode()
    (tmp_path / "log.txt").write_bytes(words)
    with reader.page(script=PIECES) as page:
        attach = page.locator(".ask [data-files]")
        attach.set_input_files(sized(tmp_path / "big.txt", BIG_BYTES))
        expect(page.locator("#files li")).to_have_text("big.txt×")
        pieces = page.evaluate("window.pieces")
        assert sum(pieces) == BIG_BYTES and max(pieces) < 200_000
        page.get_by_role("button", name="Remove big.txt").click()
        attach.set_input_files(tmp_path / "log.txt")
        ask(page)
        page.locator(".report article").wait_for()
        expect(page.locator(".exchange .files li")).to_have_text("log.txt")
        [stored] = reader.server.data.glob("attachments/*/attached/log.txt")
        assert stored.read_bytes() == words


ATTACHED = """async (isAtWork) => {
  const {sentFiles} = await import("/page/files.js");
  const file = {name: "tariff.pdf", reason: "it arrived during the research", code: "new"};
  const list = sentFiles([file], isAtWork);
  return [list.textContent, list.querySelectorAll(".bad").length];
}"""
"""How a file is shown that has arrived and was not read yet."""


def test_a_file_that_is_being_read_does_not_count_as_not_read(reader: Reader) -> None:
    with reader.page() as page:
        assert page.evaluate(ATTACHED, True) == ["tariff.pdf · being read", 0]
        assert page.evaluate(ATTACHED, False) == ["tariff.pdf · it arrived during the research", 0]


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
        # A step is put back where it was, and nothing moves past it meanwhile.
        page.get_by_role("button", name="Remove step 1").click()
        assert lines_of(page) == ["Its keeper"]
        page.get_by_role("button", name="Put back step 1").click()
        assert lines_of(page) == ["The harbour", "Its keeper"]
        assert page.locator("textarea:focus").get_attribute("aria-label") == "Step 1"
        page.get_by_role("button", name="Put back step 3").click()
        assert lines_of(page) == ["The harbour", "Its keeper", "The light"]
        page.get_by_role("button", name="Remove step 3").click()
        page.get_by_role("button", name="Start research").click()
        page.locator(".report article").wait_for()
        plan = page.locator("summary", has_text="Plan, 2 steps, edited by you")
        plan.click()
        steps = page.locator("[data-part=plan] .prose li").all_inner_texts()
        assert steps == ["The harbour", "Its keeper"]


def test_changes_of_a_plan_are_kept_over_a_reload_until_they_are_sent(
    reader: Reader, expect: Any
) -> None:
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Show me the plan first").check()
        ask(page)
        lines = page.locator(".lines textarea")
        lines.first.wait_for()
        page.get_by_label("Step 1", exact=True).fill("The light, and who lit it")
        page.get_by_label("Step 3", exact=True).focus()
        page.keyboard.press("Alt+ArrowUp")
        page.get_by_role("button", name="Add a step").click()
        page.keyboard.type("The tides")
        comment = page.get_by_label("What should change")
        comment.fill("Name the ferry")
        changed = ["The light, and who lit it", "The harbour", "Its keeper", "The tides"]
        page.reload()
        lines.first.wait_for()
        assert lines_of(page) == changed
        expect(comment).to_have_value("Name the ferry")
        # A new plan has none of the changes of the one before it.
        page.get_by_role("button", name="Rewrite the plan").click()
        expect(comment).to_have_value("")
        expect(lines).to_have_count(3)
        page.get_by_role("button", name="Remove step 3").click()
        page.reload()
        lines.first.wait_for()
        assert lines_of(page) == ["The light", "Its keeper"]
        page.get_by_role("button", name="Start research").click()
        page.locator(".report article").wait_for()
        page.locator("summary", has_text="Plan, 2 steps, edited by you").wait_for()
        drafts = "Object.keys(localStorage).filter((key) => key.includes('draft'))"
        assert page.evaluate(drafts) == []


KEPT = """async () => {
  const {h, show} = await import("/page/dom.js");
  const form = document.body.appendChild(h("form")), field = () => form.querySelector("textarea");
  show(form, h("fieldset", {"data-key": "ways"}), h("label"), h("textarea"));
  field().value = "Name the ye";
  field().focus();
  show(form, h("label"), h("textarea"), h("p"));
  const kept = [field().value, field() === document.activeElement];
  form.remove();
  return kept;
}"""
"""Draws a form anew, without what stood before its field."""


def test_a_field_keeps_its_words_and_the_focus_when_what_stands_before_it_goes(
    reader: Reader,
) -> None:
    with reader.page() as page:
        assert page.evaluate(KEPT) == ["Name the ye", True]


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


NOTICES = """
window.notices = [];
window.Notification = class {
  static permission = "default";
  static async requestPermission() { return (this.permission = "granted"); }
  constructor(title, {body}) { window.notices.push([title, body]); }
};
Object.defineProperty(document, "hidden", {get: () => window.isAway ?? false});
"""
"""Records notifications in place of the system that shows them; `isAway` hides the page."""


def test_a_reader_who_wants_it_is_notified_of_the_end_of_a_long_run(
    reader: Reader, desk: WireDesk, expect: Any, barriers_of: Barriers
) -> None:
    with reader.page(script=NOTICES) as page:
        offer = page.locator("#offer")
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        assert offer.is_hidden()
        page.clock.install()
        page.clock.fast_forward("01:00")
        expect(offer).to_be_visible()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.get_by_role("button", name="Notify me when it ends").click()
        expect(offer).to_be_hidden()
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped").wait_for()
        page.get_by_role("button", name="Continue").first.click()
        page.evaluate("window.isAway = true")
        page.locator(".report article").wait_for()
        assert page.evaluate("window.notices") == [["The report is finished", QUESTION]]


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


def test_whoever_asks_by_keyboard_goes_on_in_the_box(reader: Reader, expect: Any) -> None:
    with reader.page() as page:
        words = page.locator("#words")
        page.get_by_role("textbox", name="Question").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(words).to_be_focused()
        page.keyboard.type("Mind the years")
        page.locator(".report article").wait_for()
        expect(words).to_be_focused()
        expect(words).to_have_value("Mind the years")
        page.keyboard.press("Enter")
        expect(words).to_have_value("")
        page.locator(".exchange").nth(1).locator(".report article").wait_for()
        expect(words).to_be_focused()


def test_whoever_asks_by_keyboard_starts_the_research_of_a_plan_by_it(
    reader: Reader, expect: Any
) -> None:
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Show me the plan first").check()
        page.get_by_role("textbox", name="Question").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator(".review").get_by_role("button", name="Start research")).to_be_focused()
        page.keyboard.press("Enter")
        page.locator(".report article").wait_for()


def test_a_question_and_a_change_of_the_report_are_told_apart(
    reader: Reader, expect: Any, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        ask(page)
        page.locator(".report article").wait_for()
        ways = page.locator(".composer .ways")
        assert "a new answer below" in ways.inner_text()
        page.locator("#words").fill("And the ha")
        choose_edit(page)
        words = ways.locator("p", has_text="Makes version 2 of")
        assert QUESTION in words.inner_text()
        expect(page.get_by_label("What to change")).to_have_value("And the ha")
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.get_by_role("radio", name="Ask a follow-up").check()
        reply(page, FURTHER, "Ask")
        page.locator(".report article").nth(1).wait_for()
        assert page.locator(".exchange .kind").all_inner_texts() == ["Follow-up"]


def test_each_question_decides_whether_its_plan_is_shown_first(reader: Reader, expect: Any) -> None:
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Show me the plan first").check()
        ask(page)
        review = page.locator(".review")
        review.get_by_role("button", name="Start research").click()
        page.locator(".report article").wait_for()
        reply(page, FURTHER, "Ask")
        page.locator(".report article").nth(1).wait_for()
        shown = page.locator(".composer").get_by_label("Show me the plan first")
        expect(shown).not_to_be_checked()
        shown.check()
        reply(page, f"{FURTHER} Once more.", "Ask")
        # It holds for what goes on with the question.
        page.get_by_label("What should change").fill("Name the ferry")
        page.get_by_role("button", name="Rewrite the plan").click()
        expect(page.get_by_label("What should change")).to_have_value("")
        review.get_by_role("button", name="Start research").click()
        page.locator(".report article").nth(2).wait_for()


FIRST = """
addEventListener("DOMContentLoaded", () => {
  window.tops = new Set();
  new MutationObserver(() => {
    const box = document.querySelector(".ask .box");
    if (box) window.tops.add(Math.round(box.getBoundingClientRect().top));
  }).observe(document.body, {childList: true, subtree: true});
});
"""
"""Records where the box for the question is after each change of the page."""


@pytest.mark.parametrize("width", [1500, 390])
def test_the_box_for_the_question_stays_where_it_is(reader: Reader, width: int) -> None:
    with reader.page(width, script=FIRST) as page:
        assert len(page.evaluate("[...window.tops]")) == 1
        # Nothing but the view itself makes the page longer than the window.
        ends = "[document.querySelector('.ask').getBoundingClientRect().bottom, document.querySelector('.shell').getBoundingClientRect().top]"
        end, top = page.evaluate(ends)
        height = page.evaluate("document.documentElement.scrollHeight")
        assert top == 56 and height <= max(900, math.ceil(end))


def test_the_focus_returns_to_where_it_was_before_a_dialog(reader: Reader, expect: Any) -> None:
    with reader.page() as page:
        ask(page, f"{QUESTION} By keyboard.")
        page.locator(".report button.cite").first.wait_for()
        source = page.locator("#source")
        # From a card, from a passage of a citation, and with the button of the dialog.
        page.locator(".source-card").nth(1).focus()
        page.keyboard.press("Enter")
        source.locator("h2").wait_for()
        page.keyboard.press("Escape")
        expect(page.locator(".source-card").nth(1)).to_be_focused()
        cite = page.locator(".report button.cite").first
        cite.focus()
        page.keyboard.press("Enter")
        quote = page.locator("aside.quote:popover-open")
        quote.get_by_role("button", name="Show it in the source").focus()
        page.keyboard.press("Enter")
        source.get_by_role("button", name="Close").focus()
        page.keyboard.press("Enter")
        expect(cite).to_be_focused()
        # Controls that wait for the server, and menus.
        page.get_by_role("button", name="Copy", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Copied")).to_be_focused()
        menu = page.locator("summary", has_text="Download")
        menu.focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Escape")
        expect(menu).to_be_focused()
        # Names, and what is undone.
        row = page.locator(".runs li a").first
        act_on(page, "Rename")
        page.keyboard.type("By hand")
        page.keyboard.press("Enter")
        expect(row).to_be_focused()
        expect(row).to_contain_text("By hand")
        page.get_by_role("link", name="New question").click()
        act_on(page, "Delete")
        expect(page.get_by_role("button", name="Undo")).to_be_focused()
        page.keyboard.press("Enter")
        expect(row).to_be_focused()
        # Lists that cover the page of a phone.
        page.set_viewport_size({"width": 390, "height": 844})
        page.get_by_role("button", name="Runs").click()
        page.get_by_label("Search runs").focus()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Runs")).to_be_focused()


def test_runs_are_found_by_what_their_reports_say(
    reader: Reader, expect: Any, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        ask(page, f"{LISTED} Mind the heron.")
        page.locator(".report article table").wait_for()
        page.get_by_label("Search runs").fill("heron BEGAN")
        found = page.locator(".runs li")
        expect(found).to_have_count(1)
        expect(found.locator(".line")).to_have_text(f"{LISTED} Mind the heron.")
        expect(found.locator("mark").first).to_have_text("began")
        assert barriers_at(page, barriers_of, 1500, 390) == []


COPIED = """
window.copied = {};
const set = DataTransfer.prototype.setData;
DataTransfer.prototype.setData = function (type, words) {
  window.copied[type] = words;
  return set.call(this, type, words);
};
Object.defineProperty(navigator, "clipboard", {value: undefined});
"""
"""A browser that is not on this machine: it has no clipboard for pages, only the command."""
READ = """async () => {
  const [item] = await navigator.clipboard.read();
  const texts = await Promise.all(item.types.map(async (type) => (await item.getType(type)).text()));
  return Object.fromEntries(item.types.map((type, index) => [type, texts[index]]));
}"""


@pytest.mark.parametrize("script", ["", COPIED])
def test_a_report_is_copied_with_its_formatting_and_as_markdown(
    reader: Reader, script: str
) -> None:
    read = "() => window.copied" if script else READ
    with reader.page(script=script) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        ask(page, LISTED)
        page.locator(".report article table").wait_for()
        page.get_by_role("button", name="Copy", exact=True).click()
        page.get_by_role("button", name="Copied").wait_for()
        copied = page.evaluate(read)
        html = copied["text/html"].partition("<h1>")[2]
        assert html.startswith(f"{LISTED}</h1>")
        assert f"<p>{FACTS['light']}\u00a0[1]</p>" in html.replace("&nbsp;", "\u00a0")
        assert "<th>Event</th>" in html and "<td>Moran began</td>" in html
        assert "<h2>Sources</h2><p>[1] " in html and "/light" in html
        assert "button" not in html and "class=" not in html
        markdown = copied["text/plain"]
        assert "| Moran began | 1901" in markdown
        page.evaluate("window.copied = {}")
        # The button says so for a moment only.
        page.get_by_role("button", name="Copy", exact=True).wait_for()
        page.get_by_role("button", name="Copy Markdown").click()
        page.get_by_role("button", name="Copied").wait_for()
        assert page.evaluate(read) == {"text/plain": markdown}


def test_a_downloaded_report_is_named_after_its_title(reader: Reader) -> None:
    with reader.page() as page:
        ask(page)
        page.locator(".report article").wait_for()
        # Beside a scroll bar on a phone.
        page.set_viewport_size({"width": 375, "height": 844})
        menu = page.locator(".menu summary", has_text="Download")
        box = menu.bounding_box()
        assert box["x"] + box["width"] <= 375 - 16
        held = list[Any]()
        page.route("**/export?format=md*", lambda route: held.append(route))
        menu.click()
        with page.expect_download() as loaded:
            page.get_by_role("button", name="Markdown", exact=True).click()
            page.locator(".menu summary", has_text="Making Markdown…").wait_for()
            held[0].continue_()
        assert loaded.value.suggested_filename == f"{QUESTION.rstrip('?')}.md"
        menu.wait_for()
