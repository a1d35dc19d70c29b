"""What a report's check says of it is counted once: the page, its list of runs, its title, exports
and the command line show the same numbers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx
import lxml.html
import pytest
from kit.commands import Desk
from kit.runs import write_documents
from kit.server import Server
from kit.stored_runs import FOLLOW_UP, REPORTS, store_reports

from deep_research.app.server._trust import statement_data
from deep_research.app.words import ReportTrust
from deep_research.core.records.report import Grade, Report, UnitVerdict
from deep_research.core.store.location import FILE_NAME, thread_id

WAIT = 240_000
POINTS = "2 of 2 points answered"
LINES = {
    "all-supported": f"2 of 2 cited statements supported · {POINTS}",
    "corrected": f"2 of 3 cited statements supported · 1 corrected · {POINTS}",
    "marked": f"2 of 3 cited statements supported · 1 not verified · {POINTS}",
    "many-unproved": f"2 of 10 cited statements supported · 8 not verified · {POINTS}",
    "with-gaps": "2 of 2 cited statements supported · 1 contradiction · 1 open · "
    "1 of 2 points answered, 1 partly",
    "disputed": f"2 of 2 cited statements supported · 1 contradiction · {POINTS}",
    "calculated": f"2 of 2 cited statements supported · 1 calculation · {POINTS}",
    "not-judged": f"1 of 2 cited statements supported · 1 not judged · {POINTS}",
    "not-checked": f"not checked · {POINTS}",
    "planned-report": "1 of 3 cited statements supported · 2 not verified · 1 contradiction · 3 open · "
    "1 of 2 points answered, 1 partly",
}
DOUBTS = {
    "marked": "1 not verified",
    "many-unproved": "8 not verified",
    "with-gaps": "1 open",
    "not-judged": "1 not judged",
    "not-checked": "not checked",
    "planned-report": "2 not verified, 3 open",
}
"""What keeps a run from being plainly done."""
FIRST = ("corrected", "with-gaps", "planned-report")
"""Runs that show all kinds of numbers but those of statements that nobody judged."""


Stored = Callable[[Iterable[str]], Desk]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """A data folder, into which each of the finished runs comes when a test first needs it."""
    desk = Desk(tmp_path_factory.mktemp("trust"))
    write_documents(desk.docs)
    desk.data.mkdir()
    known = set[str]()

    def store(names: Iterable[str]) -> Desk:
        new = [name for name in names if name not in known]
        known.update(new)
        asyncio.run(store_reports(desk.data / FILE_NAME, desk.folder, new))
        return desk

    return store


@pytest.mark.sweep(first=3)
@pytest.mark.parametrize("name", sorted(LINES, key=FIRST.__contains__, reverse=True))
def test_list_text_and_json_of_the_command_line_say_the_same(stored: Stored, name: str) -> None:
    assert LINES.keys() == REPORTS.keys()
    desk, line = stored([name]), LINES[name]
    doubts = DOUBTS.get(name, "")
    outcome = ", ".join(filter(None, ("completed", doubts)))
    [row] = [row for row in desk.call("runs").out.splitlines() if f"[{name}]" in row]
    assert f"  {outcome} " in row
    data = json.loads(desk.call("show", name, "--format", "json").out)
    trust = data["trust"]
    assert (trust["line"], trust["doubts"]) == (line, doubts)
    assert (
        trust["supported"] + trust["corrected"] + trust["not_verified"] + trust["not_judged"]
        == trust["cited"]
    )
    # What was not found is not suggested.
    assert data["follow_ups"] == ([FOLLOW_UP] if name == "with-gaps" else [])
    exported = lxml.html.document_fromstring(desk.call("export", name, "--format", "html").out)
    [above] = exported.xpath("//p[contains(@class, 'trust')]")
    assert re.findall(r"\d+", above.text_content()) == re.findall(r"\d+", line)
    shown = desk.call("show", name).out
    assert f"\nStatus    {outcome}\n" in shown and f"\nAudit\n  {line}\n" in shown


def test_points_that_are_answered_in_part_or_not_graded_are_named() -> None:
    words = {
        (0, 1, 0, 1): "1 point partly answered",
        (0, 1, 0, 2): "0 of 2 points answered, 1 partly",
        (0, 0, 0, 1): "0 of 1 point answered",
        (2, 1, 2, 5): "2 of 5 points answered, 1 partly, 2 not graded",
        (0, 0, 5, 5): "5 points not graded",
    }
    for (answered, partly, not_graded, points), line in words.items():
        trust = ReportTrust(
            was_checked=True,
            answered=answered,
            partly=partly,
            not_graded=not_graded,
            points=points,
        )
        assert trust.parts["points"] == line


def test_what_a_changed_report_leaves_open_is_no_point_that_was_asked_for() -> None:
    asked = Grade(requirement="The rent", verdict="answered")
    gap = Grade(requirement="The cost of the lamp", verdict="not answered", is_unasked=True)
    report = Report(text="It rose.", sources=(), numbers=(), grades=(asked, gap))
    trust = ReportTrust.of(report, ["The cost of the lamp"])
    assert (trust.answered, trust.points, trust.open) == (1, 1, 1)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (UnitVerdict(text="", shown="marked", is_contradicted=True), "contradicted"),
        (UnitVerdict(text="", shown="marked", words="It is 38 m tall."), "not in the source"),
        (UnitVerdict(text="", shown="marked"), "not in the source"),
        (UnitVerdict(text="", shown="marked", reason="another source says so"), "not verified"),
        (UnitVerdict(text="", shown="not_verified", words="38"), "not verified"),
    ],
)
def test_a_statement_that_is_not_verified_is_listed_with_its_verdict(
    verdict: UnitVerdict, words: str
) -> None:
    listed = statement_data(verdict, 1, is_judged=True)
    assert (listed["verdict"], listed["reason"]) == (words, verdict.reason)


def test_a_table_row_in_a_reason_is_listed_without_its_borders() -> None:
    said = "the source says: | Aquavence | **France** | 14 % |; it should say: 14 %"
    listed = statement_data(UnitVerdict(text="", shown="corrected", reason=said), 1, is_judged=True)
    assert listed["reason"] == ("the source says: Aquavence · France · 14 %; it should say: 14 %")


@pytest.fixture(scope="module")
def desk(stored: Stored) -> Desk:
    """A data folder with all ten runs."""
    return stored(REPORTS)


@pytest.fixture(scope="module")
def server(desk: Desk) -> Iterator[Server]:
    with Server(
        desk.folder, DEEP_RESEARCH_MODELS="extractive", DEEP_RESEARCH_SERVER_REQUIRE_TOKEN="true"
    ) as server:
        yield server


@pytest.fixture
def page(server: Server, chromium: Any) -> Iterator[Any]:
    """The first view; nothing is written to the console of the page."""
    context = chromium.new_context(reduced_motion="reduce")
    context.set_default_timeout(WAIT)
    page = context.new_page()
    said = list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{server.url}/#token={server.token}")
    page.locator(".depths").wait_for()
    yield page
    context.close()
    assert said == []


def opened(page: Any, server: Server, name: str) -> Any:
    """Open a run; return the part of its report."""
    page.goto(f"{server.url}/#/run/{thread_id(name)}")
    page.locator(".report article").wait_for()
    return page.locator(".report-part")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_line_list_title_and_check_of_the_page_say_the_same(page: Any, server: Server) -> None:
    for name, line in LINES.items():
        part = opened(page, server, name)
        assert " · ".join(part.locator(".trust summary").all_inner_texts()) == line
        outcome = ", ".join(filter(None, ("Done", DOUBTS.get(name, ""))))
        row = page.locator(".runs [aria-current] .quiet")
        assert row.inner_text().rpartition(" · ")[0] == outcome
        colour = "completed_with_gaps" if name in DOUBTS else "completed"
        assert row.locator(".dot").get_attribute("class") == f"dot {colour}"
        assert page.title().startswith(f"{outcome}: ")
        checked = [] if name == "not-checked" else [f"How it was checked: {line}"]
        assert part.locator(".checked > summary").all_inner_texts() == checked


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_part_of_the_line_opens_its_list(
    page: Any, server: Server, barriers_of: Callable[[Any], list[Any]]
) -> None:
    def listed(name: str, kind: str) -> Any:
        part = opened(page, server, name)
        part.locator(f".trust .{kind} > summary").click()
        assert barriers_of(page) == []
        return part.locator(f".trust .{kind} .trust-list")

    corrections = listed("corrected", "corrected")
    line = page.locator(".trust summary")
    lefts = [summary.bounding_box()["x"] for summary in line.all()]
    page.locator(".trust .corrected > summary").click()
    assert [summary.bounding_box()["x"] for summary in line.all()] == lefts
    page.locator(".trust .corrected > summary").click()
    assert corrections.locator("del").inner_text() == "It stands 83 metres tall."
    assert corrections.locator("ins").inner_text() == "It stands 38 metres tall."
    corrections.get_by_role("button").click()
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == "It stands 38 metres tall."
    unproved = listed("many-unproved", "not_verified")
    assert unproved.locator("li").count() == 8
    unproved.get_by_role("button", name="1875").click()
    assert page.evaluate(focused) == "It was painted in 1875."
    whys = unproved.locator(".why").all_inner_texts()
    assert set(whys) == {"Contradicted: the source says something else"}
    disputes = listed("disputed", "contradictions").inner_text()
    assert "first time in 1844" in disputes and "in 1846" in disputes
    calculations = listed("calculated", "calculations").inner_text()
    assert "1932 - 1901 = 31 years" in calculations
    assert "Ada Moran kept the Skerry Light from 1901 to 1932." in calculations
    assert "her death" in listed("with-gaps", "open").inner_text()
    points = listed("with-gaps", "points").locator("li").all_inner_texts()
    assert points == ["✓When the light was lit", "◐Its keeper partly: her death"]
    listed("all-supported", "supported").get_by_role("link").click()
    page.locator(".checked[open] .evidence").wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    listed("planned-report", "contradictions")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


BEHIND = """async () => {
  const {fillTrust} = await import("/page/trust.js");
  const {parsed} = await import("/page/dom.js");
  const line = (n) => `<li id="calc-${n}"><span class="number">calc ${n}</span></li>`;
  const judged = "<ul><li>A statement<ul><li>1 + 1</li><li>2 + 2</li></ul></li></ul>";
  const report = parsed(`<article><button class="cite calc">calc 2</button></article>
    <section aria-labelledby="calculations"><h2></h2><ol>${line(1)}${line(2)}</ol>${judged}</section>`).body;
  const section = parsed('<div class="trust"><p class="calculations"><span class="trust-list">').body;
  fillTrust(section, report);
  const [cited, others] = [":scope > ol > li", "details > ol > li"].map((lines) =>
    [...section.querySelectorAll(`.trust-list`)].flatMap((list) => [...list.querySelectorAll(lines)]));
  return [cited, others].map((lines) => lines.map((item) => item.textContent)).concat(section.querySelector("summary").textContent);
}"""
"""The calculations that are listed as cited and as others, and what says how many these are."""


@pytest.mark.slow
def test_calculations_that_the_report_does_not_cite_are_listed_apart(page: Any) -> None:
    cited, others, words = page.evaluate(BEHIND)
    assert (cited, others) == (["calc 2"], ["calc 1"])
    assert words.startswith("and 3 more")


@pytest.mark.slow
def test_a_pdf_leaves_no_warnings_in_the_log(server: Server) -> None:
    pytest.importorskip("weasyprint")
    url = f"{server.url}/research/runs/{thread_id('corrected')}/export?format=pdf"
    sent = httpx.get(url, headers={"X-Api-Key": server.token}, timeout=WAIT / 1000)
    assert sent.content.startswith(b"%PDF")
    assert "weasyprint" not in server.log.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_marked_number_says_why_before_its_passage(
    page: Any, server: Server, barriers_of: Callable[[Any], list[Any]]
) -> None:
    why = "No source cited here supports the sentence; the closest passage is below."
    chip = opened(page, server, "marked").locator("button.cite.unsupported")
    chip.hover()
    page.locator("#hint:popover-open", has_text=why).wait_for()
    chip.click()
    card = page.locator("aside.quote:popover-open")
    beginning, passage, _ = card.inner_text().partition(card.locator("blockquote").inner_text())
    assert "not supported" in beginning and why in beginning and passage
    assert "the source says something else" in beginning
    assert barriers_of(page) == []
    page.keyboard.press("Escape")
    why = "The number is dashed: this report was not compared with its sources."
    chip = opened(page, server, "not-checked").locator("article button.cite").first
    chip.hover()
    page.locator("#hint:popover-open", has_text=why).wait_for()
    chip.click()
    page.locator("#source .notice", has_text=why).wait_for()
    assert barriers_of(page) == []
    # The focus returns to the number, whose preview does not outlive its view.
    page.keyboard.press("Escape")
    page.locator("#hint:popover-open").wait_for()
    page.goto(f"{server.url}/#/")
    page.locator(".depths").wait_for()
    assert page.locator("#hint:popover-open").count() == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_suggested_question_fills_the_box_and_a_report_without_one_suggests_nothing(
    page: Any, server: Server
) -> None:
    opened(page, server, "with-gaps")
    assert page.locator(".next button").all_inner_texts() == [FOLLOW_UP]
    assert page.locator(".report article + .next").is_visible(), "before what is said of the report"
    page.get_by_role("button", name=FOLLOW_UP).click()
    assert page.locator("#words").input_value() == FOLLOW_UP
    assert page.evaluate("document.activeElement.id") == "words"
    opened(page, server, "planned-report")
    assert page.locator(".next").count() == 0
