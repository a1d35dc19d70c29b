"""A table over a small web: registers with pages, lists that overlap, names in other spellings, rows
that do not count, sources that disagree, and a page that is down."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kit.engines import Answer, SearchApi, found
from kit.models import call, calls
from kit.runs import Lab
from kit.tables import cell, cells, design, row, rows, shown, table_lab, value_judge
from kit.web import Web, hostile_web
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from deep_research.core.tables.report_tables import sheets_of
from deep_research.state import ResearchState
from deep_research.tools.results import results_in

QUESTION = "All grants for harbour towns above 50,000 euros, with giver, amount and deadline."
PAGE_SIZE = 4
COLUMNS = [
    {"name": "Grant", "is_key": True},
    {"name": "Giver"},
    {"name": "Amount", "kind": "money"},
    {"name": "Deadline", "kind": "date"},
]
LISTED = re.compile(r"Programme: (.+?)(?=\n|$)")
AMOUNT = re.compile(r"It pays (.+?) to")
DEADLINE = re.compile(r"by (\d{1,2} \w+ \d{4})")
GIVER = re.compile(r"given by the (.+?)\.")
IS_GRANT = re.compile(r".+ Quay Grant \d+$")
DOWN = 3
"""Number of the grant whose page is down."""
DISPUTED = 5
"""Number of the grant of which another page states another amount."""


class Grant(NamedTuple):
    """A grant as its page has it."""

    number: int

    @property
    def name(self) -> str:
        return f"{TOWNS[self.number % len(TOWNS)]} Quay Grant {self.number}"

    @property
    def amount(self) -> int:
        return 20_000 if self.number % 6 == 0 else 50_000 + 1_500 * self.number

    @property
    def written(self) -> str:
        forms = ("{:,} euros", "€{:,}", "EUR {:,}")
        return forms[self.number % 3].format(self.amount)

    @property
    def page(self) -> str:
        return (
            f"<p>{self.name} is given by the Ministry {self.number % 4}. It pays {self.written} to "
            f"harbour towns.</p><p>Apply by {self.number % 27 + 1} May 2027.</p>"
        )

    @property
    def path(self) -> str:
        return f"/grant/{self.number}"


TOWNS = ("Anlow", "Skerry", "Tralee", "Orwell", "Harwich", "Deal", "Bude")
GRANTS = [Grant(number) for number in range(1, 13)]
COUNTING = [grant for grant in GRANTS if grant.amount > 50_000]


def page(title: str, body: str) -> str:
    return f"<html><head><title>{title}</title></head><body><main><h1>{title}</h1>{body}</main></body></html>"


def entry(web: Web, grant: Grant, name: str = "") -> str:
    return f'<p>Programme: <a href="{web.url(grant.path)}">{name or grant.name}</a></p>'


@pytest.fixture
def web() -> Iterator[Web]:
    with hostile_web() as web:
        for grant in GRANTS:
            status = 500 if grant.number == DOWN else 200
            web.publish(grant.path, page(grant.name, grant.page), status)
        pages = [GRANTS[start : start + PAGE_SIZE] for start in range(0, len(GRANTS), PAGE_SIZE)]
        for number, listed in enumerate(pages, 1):
            body = "".join(entry(web, grant) for grant in listed)
            if number < len(pages):
                body += f'<p>Next: <a href="{web.url(f"/register/{number + 1}")}">more</a></p>'
            web.publish(f"/register/{number}", page(f"Register, page {number}", body))
        # Another list has some of them in another spelling.
        others = "".join(
            entry(web, grant, grant.name.replace("Grant", "Grant no.")) for grant in GRANTS[:5]
        )
        web.publish("/list", page("Grants for ports", others))
        disputed = GRANTS[DISPUTED - 1]
        web.publish(
            "/news", page("News", f"<p>{disputed.name}: It pays 99,000 euros to towns.</p>")
        )
        yield web


def texts(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(message.text for message in messages if isinstance(message, ToolMessage))


def next_page(messages: Sequence[BaseMessage]) -> list[str]:
    """Addresses of further pages of a register that were seen and not opened."""
    opened = [
        url
        for message in messages
        if isinstance(message, AIMessage)
        for made in message.tool_calls
        for url in made["args"].get("urls", [])
    ]
    seen = re.findall(r'"address": "(http[^"]+/(?:register/\d+|list))"', texts(messages))
    return [url for url in dict.fromkeys(seen) if url not in opened]


def scout(messages: Sequence[BaseMessage], settings: Any) -> AIMessage:
    """Searches, opens each page of a list, and hands in all names that it was shown."""
    if not texts(messages):
        way = "list" if "lists of grants" in messages[1].text else "register"
        return calls(call("web_search", queries=[f"harbour grants {way}"]))
    further = next_page(messages)
    if further:
        return calls(call("open_url", urls=further))
    links = dict(re.findall(r'\{"words": "([^"]+)", "address": "([^"]+)"\}', texts(messages)))
    named = list[dict[str, Any]]()
    for text in shown(messages).values():
        for name in LISTED.findall(text):
            named.append({"key": [name], "words": name, "address": links.get(name, "")})
    return rows(*named)(messages, settings)


def fill(messages: Sequence[BaseMessage], settings: Any) -> AIMessage:
    """Hands in what the page of its grant states; looks for news where it is asked to."""
    [name] = re.findall(r"Row 1: (.+?)\. Cells", messages[1].text)
    if "open-first" not in str(messages) and not texts(messages):
        return calls(call("web_search", queries=[name]))
    page_text = next((text for text in shown(messages).values() if f"{name} is given" in text), "")
    found_cells = [cell("Grant", name)]
    rejected = list[dict[str, Any]]()
    for column, pattern in (("Giver", GIVER), ("Amount", AMOUNT), ("Deadline", DEADLINE)):
        stated = pattern.search(page_text)
        if stated:
            found_cells.append(cell(column, stated[1], stated[0]))
            if column == "Amount" and "20,000" in stated[1]:
                rejected.append({"row": 1, "reason": "20,000 euros"})
        else:
            found_cells.append(cell(column, "", looked="its page"))
    return cells(*found_cells, rejected=rejected)(messages, settings)


def same_pairs(messages: Sequence[BaseMessage], _: Any) -> AIMessage:
    """The pairs whose names differ in "no." alone."""
    pairs = re.findall(r"(\d+)\. (.+?) \(.*\n   (.+?) \(", messages[-1].text)
    same = [
        int(number)
        for number, first, second in pairs
        if first.replace(" no.", "") == second.replace(" no.", "")
    ]
    return calls(call("judge_pairs", same=same))


def grants_lab(tmp_path: Path, web: Web, api: SearchApi, **settings: Any) -> Lab:
    register = [found(web.url("/register/1"), "Register, page 1", "Grants for harbours.")]
    api.on("harbour grants register", Answer(register))
    api.on("harbour grants list", Answer([found(web.url("/list"), "Grants for ports", "Ports.")]))
    for grant in GRANTS:
        api.on(grant.name, Answer([found(web.url("/news"), "News", "News of ports.")]))
    plan = design(
        row="one grant",
        rules=["above 50,000 euros"],
        columns=COLUMNS,
        ways=["the register", "lists of grants"],
    )
    return table_lab(
        tmp_path,
        **{
            "planner": {"design_table": plan},
            "orchestrator": {
                "name_ways": calls(call("name_ways", ways=[])),
                "judge_pairs": same_pairs,
            },
            "researcher": {"Find the rows of a table": scout, "Fill": fill},
            "writer": "The table has the grants of all registers.",
            "verifier": value_judge(),
            "docs": (),
            "engines": ("tavily",),
            "allow_private": (web.netloc,),
            "robots": False,
            **settings,
        },
    )


def table_of(state: ResearchState) -> dict[str, list[Any]]:
    """The rows of the table by the name of the grant."""
    assert state.report
    [sheet] = sheets_of(state.report)
    return {row[0].text: [cell.value for cell in row[1:]] for row in sheet.rows}


async def test_all_grants_are_found_once_and_each_is_filled_from_its_own_page_and_entry(
    tmp_path: Path, web: Web, api: SearchApi
) -> None:
    run = grants_lab(tmp_path, web, api)
    state = await run.ask(QUESTION)
    table = table_of(state)
    assert list(table) == [grant.name for grant in COUNTING]
    for grant in COUNTING:
        if grant.number == DOWN:
            assert table[grant.name] == [None, None, None]
        else:
            giver, amount, deadline = table[grant.name]
            assert (giver, amount) == (f"Ministry {grant.number % 4}", grant.amount)
            assert deadline.isoformat() == f"2027-05-{grant.number % 27 + 1:02}"
    assert state.report and "not verified" not in state.report.text
    rejected = [entry.name for entry in state.rows.values() if entry.standing == "rejected"]
    assert rejected == [grant.name for grant in GRANTS if grant.amount < 50_000]
    # Of a list, only the entry of a row is shown beside its own page.
    filling = [request for request in run.calls("researcher") if "Row 1: " in request.text]
    first = next(request for request in filling if f"Row 1: {GRANTS[1].name}." in request.text)
    assert GRANTS[1].page.split("<p>")[1].removesuffix("</p>") in first.text
    assert f"Programme: {GRANTS[1].name}" in first.text
    assert GRANTS[2].name not in first.text and GRANTS[2].path not in first.text
    # What scouts are told on searching widely is left out, too.
    scouting = run.calls("researcher")[0]
    assert "think_tool" in scouting.text and "think_tool" not in first.text
    # A page that is down leaves the entry.
    down = next(
        request for request in filling if f"Row 1: {GRANTS[DOWN - 1].name}." in request.text
    )
    assert f"Programme: {GRANTS[DOWN - 1].name}" in down.text


def doubting(paid: str) -> Callable[..., AIMessage]:
    """A scout that follows the list to the page of the last grant there and rejects it by its own
    page, with these words on what it pays; the one of the register knows its name only."""

    def reply(messages: Sequence[BaseMessage], settings: Any) -> AIMessage:
        if "lists of grants" not in messages[1].text:
            return scout(messages, settings)
        if not texts(messages):
            return calls(call("web_search", queries=["harbour grants list"]))
        address = next(iter(re.findall(r'http[^"]+/grant/6\b', texts(messages))), "")
        if "is given by" not in texts(messages):
            return calls(call("open_url", urls=next_page(messages) or [address]))
        key, reason = [GRANTS[5].name], "it pays too little"
        rejected = {"key": key, "words": paid, "address": address, "reason": reason}
        return rows(rejected=[rejected])(messages, settings)

    return reply


@pytest.mark.parametrize(
    ("paid", "is_rejected"), [("It pays 20,000 euros", True), ("It pays 10 euros", False)]
)
async def test_a_row_that_a_scout_rejects_by_its_own_page_is_not_filled(
    tmp_path: Path, web: Web, api: SearchApi, paid: str, is_rejected: bool
) -> None:
    web.publish(
        "/list", page("Grants for ports", "".join(entry(web, grant) for grant in GRANTS[:6]))
    )
    researcher = {"Find the rows of a table": doubting(paid), "Fill": fill}
    run = grants_lab(tmp_path, web, api, researcher=researcher)
    state = await run.ask(QUESTION)
    filled = [request for request in run.calls("researcher") if "Row 1: " in request.text]
    assert bool(filled)
    name = f"Row 1: {GRANTS[5].name}."
    assert any(name in request.text for request in filled) != is_rejected
    [standing] = [row.standing for row in state.rows.values() if row.name == GRANTS[5].name]
    assert standing == "rejected"


async def test_lists_that_a_colleague_has_opened_get_no_scout_again(
    tmp_path: Path, web: Web, api: SearchApi
) -> None:
    opened, unknown = web.url("/register/2"), web.url("/archive")

    def naming(messages: Sequence[BaseMessage], settings: Any) -> AIMessage:
        if "lists of grants" not in messages[1].text or not texts(messages):
            return scout(messages, settings)
        further = [f"The second page of the register ({opened}).", f"The archive: {unknown}"]
        return rows(further=further)(messages, settings)

    researcher = {"Find the rows of a table": naming, "Fill": fill}
    run = grants_lab(tmp_path, web, api, researcher=researcher)
    state = await run.ask(QUESTION)
    assert state.table
    assert [way for way in state.table.tried if "http" in way] == [f"The archive: {unknown}"]
    # The scout of the archive is told what is known, so that it need not open pages to tell.
    [archive, *_] = [request for request in run.calls("researcher") if unknown in request.text]
    known = GRANTS[-1]
    assert f"{known.name} {web.url(known.path)}" in archive.text


@pytest.mark.slow
async def test_wrong_cells_of_a_model_are_marked_and_right_ones_are_not(
    tmp_path: Path, web: Web, api: SearchApi
) -> None:
    planted = {grant.name: grant.amount + 1_000 for grant in COUNTING[::3]}

    def careless(messages: Sequence[BaseMessage], settings: Any) -> AIMessage:
        answer = fill(messages, settings)
        for made in answer.tool_calls:
            entries = made["args"].get("cells", [])
            name = entries[0]["value"] if entries else ""
            for entry in entries:
                if entry["column"] == "Amount" and entry["value"] and name in planted:
                    entry["value"] = f"{planted[name]:,} euros"
        return answer

    researcher = {"Find the rows of a table": scout, "Fill": careless}
    state = await grants_lab(tmp_path, web, api, researcher=researcher).ask(QUESTION)
    assert state.report
    [sheet] = sheets_of(state.report)
    marked = {row[0].text for row in sheet.rows for cell in row if cell.is_marked}
    down = GRANTS[DOWN - 1].name
    assert marked == planted.keys() - {down}


OFFICES = 240
"""Links of a register that lead to no grant."""


def linked(messages: Sequence[BaseMessage], settings: Any) -> AIMessage:
    """A scout that also hands in what a link names."""
    if not texts(messages) or next_page(messages):
        return scout(messages, settings)
    named = list[dict[str, Any]]()
    for result in results_in([message for message in messages if isinstance(message, ToolMessage)]):
        addresses = {link["words"]: link["address"] for link in result.get("links", ())}
        names = [*LISTED.findall(result["text"]), *filter(IS_GRANT.match, addresses)]
        for name in dict.fromkeys(names):
            found_row = row(name, address=addresses.get(name, ""), document=result["document"])
            named.append(found_row)
    return rows(*named)(messages, settings)


@pytest.mark.sweep
@pytest.mark.parametrize("is_in_text", [True, False])
async def test_rows_are_filled_from_pages_that_are_behind_the_last_links_of_a_register(
    tmp_path: Path, web: Web, api: SearchApi, is_in_text: bool
) -> None:
    offices = "".join(
        f'<p><a href="{web.url(f"/office/{number}")}">Office {number}</a></p>'
        for number in range(OFFICES)
    )
    named = [entry(web, grant) for grant in GRANTS]
    body = f"{offices}{''.join(named)}"
    if not is_in_text:
        text = "<p>Towns on the coast may ask for money for their harbours.</p>" * 120
        body = f'{named[0]}{text}<div class="menu">{offices}{"".join(named[1:])}</div>'
    web.publish("/register/1", page("Register", body))
    web.publish("/list", page("Grants for ports", "<p>There are none.</p>" * 20))
    run = grants_lab(
        tmp_path, web, api, researcher={"Find the rows of a table": linked, "Fill": fill}
    )
    state = await run.ask(QUESTION)
    table = table_of(state)
    assert list(table) == [grant.name for grant in COUNTING]
    for grant in COUNTING:
        if grant.number != DOWN:
            assert table[grant.name][1] == grant.amount


async def test_links_that_are_too_many_to_be_followed_are_named(
    tmp_path: Path, web: Web, api: SearchApi
) -> None:
    many = "".join(
        f'<p><a href="{web.url(f"/office/{number}")}">Office {number}</a></p>'
        for number in range(1_020)
    )
    web.publish("/list", page("Grants for ports", many))
    state = await grants_lab(tmp_path, web, api).ask(QUESTION)
    assert state.report and state.report.audit
    [unread] = [file for file in state.report.audit.not_read if file.path == web.url("/list")]
    assert unread.reason == "its links beyond the first 1000"
