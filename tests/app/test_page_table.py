"""The page fills a table while it is researched. In a real browser, as in `test_page.py`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kit.commands import WireDesk, wire_desk
from kit.openai_server import Received, Reply, say, use
from kit.page import Reader, ask, served, show_options
from kit.wire import FACTS, plain_run, search_for, tool_results

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
GOES_ON = threading.Event()
"""Set when the second row may be filled."""
OFFER = "This asks for a list: as a table?"
LISTED = "Which lights are there, with the year in which they were lit?"
NAMES = ("Skerry Light", "Second light")


def decide(request: Received) -> Reply:
    """The forms of a table, and its summary; otherwise what a trial asks for."""
    if "design_table" in request.tools:
        columns = [{"name": "Light", "is_key": True}, {"name": "Lit", "kind": "date"}]
        if "height" in request.prompt:
            columns.append({"name": "Height", "kind": "number", "unit": "m"})
        design = {"row": "one light", "columns": columns, "ways": ["light"]}
        return use(("design_table", design))
    for form in ("name_ways", "judge_pairs"):
        if form in request.tools:
            return use((form, {}))
    if "the summary above a table" in request.system:
        return say("Two lights were found.")
    trial = plain_run()["trial"]
    assert callable(trial)
    return trial(request)


def offer(request: Received) -> Reply:
    """Offers a table in place of one report."""
    is_offered = "as_table" in json.dumps(request.json) and LISTED in request.prompt
    return use(("generate_plan", {"as_table": OFFER} if is_offered else {}))


def research(request: Received) -> Reply:
    """A scout that finds two lights, and researchers who fill them, the second once it may."""
    if "Find the rows" in request.prompt:
        if not tool_results(request):
            return search_for("light")
        rows = [{"key": [name], "document": 1, "words": FACTS["light"]} for name in NAMES]
        return use(("generate_report", {"rows": rows}))
    name = next(name for name in NAMES if f"Row 1: {name}" in request.prompt)
    if name == NAMES[1]:
        GOES_ON.wait()
    lit = {"column": "Lit", "value": "1844", "document": 1, "words": FACTS["light"]}
    light = {"column": "Light", "value": name, "document": 1, "words": FACTS["light"]}
    return use(("generate_report", {"cells": [light, lit]}))


ROLES = {"clarifier": offer, "trial": decide, "researcher": research}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire"), **ROLES) as desk:
        yield desk
        GOES_ON.set()


@pytest.fixture(scope="module")
def reader(desk: WireDesk, chromium: Any) -> Iterator[Reader]:
    with served(desk, chromium) as reader:
        yield reader


def test_the_rows_are_shown_as_they_are_found_and_filled(reader: Reader) -> None:
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Method").select_option("table_research")
        ask(page, "All lights of the coast, with the year in which they were lit.")
        rows = page.locator("table.rows tbody tr")
        rows.filter(has_text="1844").wait_for()
        assert rows.count() == 2
        assert rows.filter(has_text="Second light").locator("td").last.inner_text() == "…"
        GOES_ON.set()
        # The columns of the report's table can be sorted, those of its draft cannot.
        page.locator("article thead button").nth(1).wait_for()
        assert page.locator("article thead button").count() == 2
        assert page.locator("article tbody tr").count() == 2
        assert "Second light" in page.locator("article table").inner_text()


def test_a_blank_cell_says_where_it_was_looked_for_and_the_plan_speaks_of_a_table(
    reader: Reader,
) -> None:
    GOES_ON.set()
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Method").select_option("table_research")
        page.get_by_label("Show me the plan first").check()
        ask(page, "All lights of the coast, with their height and the year in which they were lit.")
        page.get_by_text("Does this table look right?").wait_for()
        assert page.get_by_role("textbox", name="Column 3").input_value() == "Height (number in m)"
        for words in ("Columns", "Add a column", "Add a line about the rows"):
            assert page.locator(".review").get_by_text(words, exact=True).is_visible()
        page.get_by_role("button", name="Start research").click()
        table = page.locator("article table.researched")
        table.locator("thead button").nth(2).wait_for()
        assert page.locator(".table-head").inner_text().startswith("4 of 6 cells found")
        assert table.locator("td.date").count() == 0
        blank = table.locator("td.blank button").first
        assert "Looked in: " in blank.get_attribute("title")
        blank.click()
        card = page.locator(".quote.missed")
        assert card.locator(".title").inner_text() == "Skerry Light · Height (m)"
        assert card.locator("li").count() >= 1
        card.get_by_role("button", name="Close").click()
        assert not card.is_visible()
        head = table.locator("thead button").first
        names = table.locator("tbody tr td:first-child .claim")
        first = names.all_inner_texts()
        for expected in (sorted(first), sorted(first, reverse=True), first):
            head.click()
            table.locator("tbody tr:first-child").filter(has_text=expected[0]).wait_for()
            assert names.all_inner_texts() == expected
        table.locator("th[aria-sort]").wait_for(state="detached")
        # A column that was planned has its heading before any of its cells is filled.
        page.locator("summary", has_text="Filled 2 rows").click()
        assert page.locator("table.rows thead").inner_text().split() == [
            "Light",
            "Lit",
            "Height",
        ]
        assert page.locator("summary", has_text="Plan, 3 columns").is_visible()
        assert page.locator(".ways").get_by_text("Change the table").count() == 1
        page.set_viewport_size({"width": 390, "height": 800})
        page.locator("summary", has_text="How it was checked").click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


DRAWN = """async () => {
  const {RowTable} = await import("/page/table.js");
  const filled = (count) => new Map(Array.from({length: count}, (_, row) => [String(row), {
    name: `Row ${row}`, standing: "filled",
    cells: new Map(Array.from({length: 12}, (_, column) => [`Column ${column}`, `${row} ${column}`])),
  }]));
  const measured = async (count) => {
    const holder = document.body.appendChild(document.createElement("div"));
    const table = new RowTable(holder), rows = filled(count), pieces = [];
    let before = 1;
    const pause = () => {
      pieces.push(holder.querySelectorAll("tr").length - before);
      before += pieces.at(-1);
      return new Promise((resolve) => setTimeout(resolve));
    };
    await table.show(rows, pause);
    let changes = 0;
    const observer = new MutationObserver((records) => { changes += records.length; });
    observer.observe(holder, {childList: true, subtree: true, characterData: true});
    const row = rows.get("7");
    rows.set("7", {...row, cells: new Map([...row.cells, ["Column 3", "changed"]])});
    await table.show(rows, pause);
    const skips = getComputedStyle(holder.querySelector("tbody")).contentVisibility;
    const shown = holder.querySelectorAll("td").length;
    holder.remove();
    return {changes, skips, shown, largest: Math.max(...pieces)};
  };
  return [await measured(20), await measured(1000)];
}"""
"""Draws tables of 20 and of 1,000 rows, and counts the changes of the page by one cell."""


def test_a_cell_of_a_large_table_costs_no_more_than_one_of_a_small_table(reader: Reader) -> None:
    with reader.page() as page:
        small, large = page.evaluate(DRAWN)
        assert large["shown"] == 12_000
        # All that comes at once is drawn in pieces, and parts out of view are not laid out.
        assert (large["largest"], large["skips"]) == (40, "auto")
        assert small["changes"] == large["changes"]


REPORT = """async () => {
  const {renderReport, putLater, sortTable} = await import("/page/report.js");
  const {markdown} = await import("/page/markdown.js");
  const columns = Array.from({length: 12}, (_, column) => column), rows = Array.from({length: 1000}, (_, row) => row);
  const cell = (row, column) => `<td><span class="claim supported" data-claim="${row * 12 + column}">${row} ${column}</span>
    <button type="button" popovertarget="quote-${row}" class="cite supported" aria-label="1, supported: Register">1</button></td>`;
  const card = (row) => `<aside class="quote" id="quote-${row}" popover><p class="title"><span class="number">1</span></p>
    <p><span class="badge supported">supported</span></p><blockquote>${row}</blockquote><p class="foot"></p></aside>`;
  const html = `<!DOCTYPE html><html lang="en"><head></head><body><main><article><div><div class="wide"><table>
    <thead><tr>${columns.map((column) => `<th>Column ${column}</th>`).join("")}</tr></thead>
    <tbody>${rows.map((row) => `<tr>${columns.map((column) => cell(row, column)).join("")}</tr>`).join("")}</tbody>
    </table></div></div></article></main>${rows.map(card).join("")}</body></html>`;
  let pauses = 0;
  const pause = () => {
    pauses += 1;
    return new Promise((resolve) => setTimeout(resolve));
  };
  const run = {question_id: "report", trust: {was_checked: false}, sources: [{number: 1, place: "Register", facts: [], extent: "whole"}]};
  const {report, later} = await renderReport(html, run, pause);
  const before = pauses, holder = document.body.appendChild(report), put = [];
  const elements = () => holder.querySelectorAll("*").length;
  const atFirst = elements();
  await putLater(later, (change) => {
    const had = elements();
    change();
    put.push(elements() - had);
  }, pause);
  const moved = [];
  const observer = new MutationObserver((records) => moved.push(records.flatMap(({addedNodes}) => [...addedNodes]).filter(({nodeName}) => nodeName === "TR").length));
  observer.observe(holder, {childList: true, subtree: true});
  const head = holder.querySelector("thead button");
  await sortTable(head);
  await sortTable(head);
  const [table] = holder.querySelectorAll("table"), [first] = table.tBodies[0].rows;
  const lines = ["| Name |", "|---|", ...rows.map((row) => `| ${row} |`)];
  const [draft] = markdown(lines.join("\\n"));
  const shown = {
    pieces: Math.min(before, Math.ceil(html.length / 100_000)) * 100_000 >= html.length, atFirst, largest: Math.max(...put), moved: Math.max(...moved),
    rows: table.rows.length, cards: holder.querySelectorAll("aside").length, first: first.cells[0].textContent.trim(), linked: holder.querySelectorAll(".claim.opens").length,
    skips: getComputedStyle(table.tBodies[3]).contentVisibility, wide: first.offsetWidth >= 12 * 144, last: draft.textContent.trim().slice(-19), draft: draft.querySelectorAll("tr").length,
    body: [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => /body\\S*:has/.test(rule.selectorText)).length,
  };
  holder.remove();
  return shown;
}"""
"""Puts a report with a table of 1,000 rows and 12 columns into the page and sorts it; the largest
piece of each that happens at once, and what is there in the end."""


def test_a_report_with_a_large_table_is_put_into_the_page_and_sorted_in_pieces(
    reader: Reader,
) -> None:
    with reader.page() as page:
        shown = page.evaluate(REPORT)
        # A row has 12 cells with a sentence and a number each.
        row = 1 + 12 * 3
        assert shown["atFirst"] < 25 * row + 200 * 12
        assert shown["largest"] < 25 * row + 200 * 12
        assert (shown["moved"], shown["pieces"]) == (20, True)
        assert (shown["rows"], shown["cards"], shown["linked"]) == (1001, 1000, 12_000)
        assert shown["first"].startswith("999")
        # Parts out of view are not laid out, and no part is cut off at the width of the page.
        assert (shown["skips"], shown["wide"]) == ("auto", True)
        assert (shown["draft"], shown["last"]) == (42, "… and 960 more rows")
        # A rule on the whole page by what is in it would cost each piece a look at all of it.
        assert shown["body"] == 0


MARKED = """async () => {
  const {markCells} = await import("/page/report.js"), {parsed} = await import("/page/dom.js");
  const tableOf = ([head, ...rows]) => {
    const line = (name) => (words) => `<tr>${words.map((word) => `<${name}>${word}</${name}>`).join("")}</tr>`;
    const {body} = parsed(`<table><thead>${[head].map(line("th")).join("")}</thead><tbody>${rows.map(line("td")).join("")}</tbody></table>`);
    return document.body.appendChild(body.firstChild);
  };
  const before = tableOf([["Light", "Lit"], ["Skerry", "1844"], ["Second", "1850"]]);
  const now = tableOf([["Light", "Height", "Lit"], ["Skerry", "38", "1844"], ["Second", "", "1851"], ["Third", "12", "1900"]]);
  await markCells(now, before, () => Promise.resolve());
  const marked = [...now.querySelectorAll("[data-changed]")].map((cell) => cell.textContent);
  before.remove();
  now.remove();
  return marked;
}"""
"""Marks what a table has that the one before it does not: its new column, row and value."""


def test_new_rows_columns_and_values_of_a_table_are_marked(reader: Reader) -> None:
    with reader.page() as page:
        assert page.evaluate(MARKED) == ["38", "1851", "Third", "12", "1900"]


NARROW = """async () => {
  const {parsed} = await import("/page/dom.js");
  const {body} = parsed(`<div class="report"><table class="evidence long"><tbody>${"<tr><td>Skerry, Lit: 1844</td><td>supported</td><td>A passage.</td></tr>".repeat(3)}</tbody></table></div>`);
  body.querySelector("table").style.setProperty("--columns", 3);
  document.querySelector("#column").append(body.firstChild);
  return document.documentElement.scrollWidth;
}"""


def test_a_long_list_of_evidence_is_no_wider_than_a_phone(reader: Reader) -> None:
    with reader.page(width=390) as page:
        assert page.evaluate(NARROW) <= 390


CARDS = """async () => {
  const {add, begin} = await import("/page/story.js"), {noSigns} = await import("/page/living.js");
  const {exchangeView} = await import("/page/thread.js");
  const story = begin(), run = {status: "running", messages: [], waiting: {}, versions: [], sources: [], sent: [], follow_ups: [], spent: {calls: 1}, plan: "1. Light"};
  for (let tab = 1; tab <= 500; tab += 1) {
    const placement = {turn_index: 1, tab_index: tab, sub_turn_index: null};
    add(story, {type: "research_agent_start", research_task: `Row ${tab}`, placement, at: tab});
    if (tab < 498) add(story, {type: "intermediate_report_cited_docs", placement, at: tab});
  }
  const exchange = {index: 0, run, story, slice: [], signs: noSigns(), sent: [], isLatest: true, worked: 0, since: Date.now()};
  return exchangeView(exchange, {formats: []}).querySelectorAll(".task").length;
}"""
"""Counts the cards of 500 researchers, of which three are at work."""


def test_of_many_researchers_only_those_that_are_not_done_have_a_card(reader: Reader) -> None:
    with reader.page() as page:
        assert page.evaluate(CARDS) == 3


def test_a_table_that_is_offered_is_made_by_a_run_of_its_own(reader: Reader) -> None:
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Show me the plan first").check()
        ask(page, LISTED)
        page.get_by_text(OFFER).wait_for()
        offered = page.url
        page.get_by_role("button", name="As a table").click()
        page.locator(".lines textarea", has_text="Lit (date)").wait_for()
        assert page.url != offered
        assert page.locator("h1.question").inner_text() == LISTED
        page.goto(offered)
        page.get_by_text("You closed this question without a report.").wait_for()
