"""The page in a real browser, before a real server, with models, a search engine and a web on
loopback."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit.commands import Point, WireDesk, point_of, wire_desk
from kit.engines import Answer, found
from kit.openai_server import Received, Reply, fail, say, use
from kit.page import (
    FURTHER,
    HELD,
    LISTED,
    WAIT,
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
from kit.server import BERTHS, TARIFF, Server, locked, write_config
from kit.server import QUESTION as ATTACHED_QUESTION
from kit.server_graph import FOLDER, MOVED
from kit.stored_runs import queried
from kit.wire import END, FACTS, QUESTION, hand_out, noted, researched, task_of

from deep_research.core.store._holder import this_process
from deep_research.core.store.location import FILE_NAME, thread_id

UNCLEAR = "Compare them?"
LOCKED = "What is behind the locked door?"
MORE = "And once more, the harbour?"
WIDE = "What is known of the coast?"
PAINTED = "And who painted it?"
COAST = [f"{subject} on the coast" for subject in ("light", "keeper", "harbour")] + [
    f"inlet {n}" for n in range(1, 10)
]
"""Tasks of the wide question."""
COUNTED = "For how many years was the light kept?"
SERVICE = "keeper, in years"
YEARS = "Years of service: 1932 [1] - 1901 [1] = years"
LASTED = "Ada Moran kept the Skerry Light for 31 years [calc 1]. [1]"
BROKEN_TASK = "light, by a model that writes nothing"
MENDED_TASK = "the light once more"
LEFT_OUT = "Which light is left out?"
ADDED = "The light that was left out is added."
AGAIN = "Research this again, because its researcher failed"
WAITING_TASK = "keeper, by a model that falls silent"
DRAWN_OUT = "What takes long?"
READING_TASK, WRITING_TASK = "log of the harbour", "keeper, in many words"
WORDY = say(f"{FACTS['keeper']} [1] And so on" + ", and so on" * 300)
SLOW = "Who is slow to answer?"
AWAY = "When was the Skerry Light lit, while no model is there?"
ANSWERS = threading.Event()
"""Whether the models of the last two questions, and of the change that goes unanswered, answer."""
UNANSWERED = "Make it shorter, while no model is there."
SLOWLY = "Make it shorter, and take your time."
SHORTER = "Say the first sentence in fewer words, and add a list."
DONE = "The first sentence is shorter, and a list follows it."
SECTIONS = 5
FOREIGN = "The Skerry Light was lit in 1844 [1].\n\n## Sources\n\n1. The light, lighthouse.md"
LONG = "\n\n".join(
    f"## Inlet {number}\n\nThe first sentence about inlet {number}. [1] "
    + "The water is deep and the rocks are old. " * 28
    for number in range(SECTIONS)
)
"""A report of 1,300 words, which is longer than any window."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
MATTERS = "The keeper matters most"


def clarify(request: Received) -> Reply:
    if LOCKED in request.prompt:
        return fail(401, "Incorrect API key provided.", code="invalid_api_key")
    if AWAY in request.prompt and not ANSWERS.is_set():
        return fail(500, "The server is broken.")
    is_unclear = UNCLEAR in request.prompt and "The light" not in request.prompt
    return say("Which of **them**?") if is_unclear else use(("generate_plan", {}))


def orchestrate(request: Received) -> Reply:
    """Send out twelve researchers for the wide question, two for others, one more for a further
    one."""
    if PAINTED in request.prompt:
        return hand_out("painter")
    if WIDE in request.prompt:
        return (
            END
            if "Found:" in request.prompt or "Nothing was found" in request.prompt
            else hand_out(*COAST)
        )
    if COUNTED in request.prompt:
        return END if FACTS["keeper"] in request.prompt else hand_out(SERVICE)
    if DRAWN_OUT in request.prompt:
        return hand_out(READING_TASK, WRITING_TASK)
    if SLOW in request.prompt:
        return END if FACTS["keeper"] in request.prompt else hand_out(WAITING_TASK)
    if LEFT_OUT in request.prompt:
        return END if FACTS["keeper"] in request.prompt else hand_out(BROKEN_TASK, "keeper")
    if FURTHER in request.prompt or MORE in request.prompt:
        return END if FACTS["harbour"] in request.prompt else hand_out("harbour")
    return END if FACTS["light"] in request.prompt else hand_out("light", "keeper")


def look_up(request: Received) -> Reply:
    """Read the pages on a task; calculate if it is about years, and wait if it is to be slow."""
    if task_of(request) == WAITING_TASK:
        ANSWERS.wait(WAIT / 1000)
    reply = researched(request)
    if reply != END or SERVICE not in request.prompt or "= 31 years" in request.prompt:
        return reply
    return use(("calculate", {"calculations": [YEARS]}))


def find(request: Received) -> Reply:
    """Write nothing on one task, and fall silent in the middle of another finding."""
    if task_of(request) == WRITING_TASK:
        return replace(WORDY, ending="stall", after=100)
    return say("") if task_of(request) == BROKEN_TASK else noted(request)


def edit(request: Received) -> Reply:
    """Change the second block as asked, or nothing; any other call is a trial of the model."""
    if "You change a research report" not in request.system:
        return use(("save_word", {"word": "amber"}))
    if UNANSWERED in request.prompt and not ANSWERS.is_set():
        return fail(500, "The server is broken.")
    if SLOWLY in request.prompt:
        ANSWERS.wait(WAIT / 1000)
    if AGAIN in request.prompt:
        is_found = f"Found: {FACTS['light']}" in request.prompt
        added = {"kind": "insert_after", "block": 1, "text": f"{FACTS['light']} [1]"}
        handed_in = {"edits": [added], "done": ADDED} if is_found else {"tasks": [MENDED_TASK]}
        return use(("edit_report", {"edits": [], **handed_in}))
    if SHORTER not in request.prompt:
        return use(("edit_report", {"edits": [], "done": "Nothing else had to change."}))
    edits = [
        {"kind": "replace", "block": 1, "text": "The Skerry Light was first lit in 1844. [1]"},
        {"kind": "insert_after", "block": 1, "text": "1. It is **a light**. [1]\n2. It is lit."},
    ]
    return use(("edit_report", {"edits": edits, "done": DONE}))


def write(request: Received) -> Reply:
    if COUNTED in request.prompt:
        return say(LASTED)
    return say(LONG) if WIDE in request.prompt else tabled(request)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    script = {
        "clarifier": clarify,
        "orchestrator": orchestrate,
        "researcher": look_up,
        "finding": find,
        "writer": write,
        "trial": edit,
    }
    with wire_desk(tmp_path_factory.mktemp("wire"), **script) as desk:
        keeper = found(desk.lab.web.url("/keeper"), "Keeper", FACTS["keeper"])
        light = found(desk.lab.web.url("/light"), "Light", FACTS["light"])
        log = found(desk.lab.web.publish("/log", "<p>A fair wind.</p>"), "Harbour log 1844")
        desk.lab.engine.on(READING_TASK, Answer([log]))
        for task in (SERVICE, WAITING_TASK, WRITING_TASK):
            desk.lab.engine.on(task, Answer([keeper]))
        for task in (BROKEN_TASK, MENDED_TASK):
            desk.lab.engine.on(task, Answer([light]))
        yield desk


@pytest.fixture(scope="module")
def server(desk: WireDesk) -> Iterator[Server]:
    with Server(
        desk.desk.folder, DEEP_RESEARCH_DOCS="", DEEP_RESEARCH_SERVER_REQUIRE_TOKEN="true"
    ) as server:
        yield server


@pytest.fixture(scope="module")
def reader(server: Server, chromium: Any) -> Reader:
    return Reader(chromium, server)


def test_a_whole_run_from_clarification_to_second_follow_up(
    reader: Reader, desk: WireDesk, tmp_path: Path
) -> None:
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Show me the plan first").check()
        ask(page, UNCLEAR)
        page.get_by_text("Which of them?").wait_for()
        reply(page, "The light and its keeper", "Answer")
        steps = page.locator(".lines textarea")
        steps.first.wait_for()
        assert page.locator("#words").is_hidden()
        assert [step.input_value() for step in steps.all()] == [
            "The light",
            "Its keeper",
            "The harbour",
        ]
        assert page.get_by_text("Earlier runs").count() == 0
        page.get_by_role("button", name="Remove").nth(1).click()
        page.get_by_role("button", name="Add a step").click()
        page.keyboard.type("Its keeper")
        page.get_by_role("button", name="Remove").nth(1).click()
        desk.holds.points.add(HELD)
        page.get_by_role("button", name="Start research").click()
        tasks = page.locator(".task")
        page.locator(".task.done").first.wait_for()
        assert "Running" in page.locator(".runs a[aria-current=page]").inner_text()
        assert [task.locator("h3").inner_text().split("\n")[0] for task in tasks.all()] == [
            "light",
            "keeper",
        ]
        assert tasks.nth(1).get_by_text("at work").is_visible()
        assert page.get_by_text("1 of 2 tasks done").is_visible()
        # The summary shows the edited plan, not the proposed one.
        summary = page.locator("summary", has_text="Plan, 2 steps, edited by you")
        summary.click()
        assert not page.get_by_text("The harbour").is_visible()
        # A reload and a second tab show the same state.
        page.reload()
        page.locator(".task.done").first.wait_for()
        other = reader.tab(page.context)
        other.goto(page.url)
        other.locator(".task.done").first.wait_for()
        other.get_by_role("button", name="Stop").click()
        other.get_by_role("button", name="Continue").first.wait_for()
        page.get_by_text("This run was stopped").wait_for()
        reply(page, "Mind the years", "Continue")
        report = page.locator(".report article")
        report.wait_for()
        other.locator(".report article").wait_for()
        assert FACTS["keeper"] in report.inner_text()
        assert any("Mind the years" in request.prompt for request in desk.lab.models.requests)
        assert page.locator("summary", has_text="Researched 2 topics").is_visible()
        cite = page.locator(".report button.cite").first
        cite.hover()
        page.locator("#hint:popover-open", has_text=FACTS["light"]).wait_for()
        assert page.locator(".source-card.lit").inner_text().startswith("1")
        cite.click()
        quote = page.locator("aside.quote:popover-open")
        assert FACTS["light"] in quote.inner_text()
        quote.get_by_role("button", name="Show it in the source").click()
        assert page.locator("#source mark").first.inner_text() == FACTS["light"].rstrip(".")
        page.locator("#source").get_by_role("button", name="Close").click()
        page.locator("summary", has_text="Download").click()
        with page.expect_download() as loaded:
            page.get_by_role("button", name="Markdown", exact=True).click()
        loaded.value.save_as(tmp_path / "report.md")
        assert FACTS["light"] in (tmp_path / "report.md").read_text("utf-8")
        for number, question in enumerate((FURTHER, MORE), 1):
            # Each follow-up decides whether its plan is shown.
            if number == 1:
                page.locator("#dock").get_by_label("Show me the plan first").check()
            reply(page, question, "Ask")
            if number == 1:
                page.get_by_role("button", name="Start research").click()
            page.locator(".exchange").nth(number).locator(".report article").get_by_text(
                FACTS["harbour"]
            ).wait_for()
        assert page.locator(".talk .user > p:first-child").all_inner_texts() == [
            "The light and its keeper",
            "Mind the years",
        ]
        # After a reload all reports and their citations are there.
        page.reload()
        page.locator(".report article").nth(2).wait_for()
        assert page.locator("h1.question").all_inner_texts() == [UNCLEAR, FURTHER, MORE]
        page.locator(".report").nth(0).locator("button.cite").first.click()
        quote = page.locator("aside.quote:popover-open")
        quote.get_by_role("button", name="Show it in the source").click()
        assert page.locator("#source mark").first.inner_text() == FACTS["light"].rstrip(".")
        page.locator("#source").get_by_role("button", name="Close").click()
        line = page.locator(".runs [aria-current]")
        assert line.locator(".line").inner_text() == UNCLEAR
        # Three runs of this kind have finished.
        page.get_by_role("link", name="New question").click()
        usual = re.compile(r"Earlier runs: .* tokens \(median of 3\)")
        shown = page.locator(".depth", has_text=usual)
        shown.wait_for()
        assert shown.locator("strong").all_inner_texts() == ["Standard"]
        promise = page.locator("#promise", has_text=re.compile(r"Usually takes \d+ "))
        promise.wait_for()
        page.locator(".depth", has_text="Quick").click()
        promise.wait_for(state="hidden")
        page.locator(".depth", has_text="Standard").click()
        promise.wait_for()
        show_options(page)
        page.get_by_role("checkbox", name="Show me the plan first").check()
        ask(page)
        page.locator(".review", has_text="Earlier runs like this one: ").wait_for()
        page.get_by_role("button", name="Cancel").click()


def test_a_calculation_opens_with_its_inputs_and_their_sources(reader: Reader) -> None:
    with reader.page() as page:
        ask(page, COUNTED)
        page.locator(".report article").wait_for()
        chip = page.get_by_role("button", name="Calculations: 1932 - 1901 = 31 years")
        chip.hover()
        page.locator("#hint:popover-open", has_text="1932 - 1901 = 31 years").wait_for()
        chip.click()
        opened = page.locator("aside.calculation:popover-open")
        assert "Years of service" in opened.inner_text()
        assert FACTS["keeper"] in opened.inner_text()
        opened.get_by_role("button", name="1", exact=True).first.click()
        assert page.locator("#source mark").first.inner_text() == FACTS["keeper"].rstrip(".")
        page.locator("#source").get_by_role("button", name="Close").click()
        listed = page.get_by_role("region", name="Calculations").locator("ol")
        assert "calc 1" in listed.inner_text() and FACTS["keeper"] in listed.inner_text()


LATE = """const fetched = window.fetch, isShown = (selector) => document.querySelector(selector);
window.fetch = async (path, options) => {
  const response = await fetched(path, options);
  const isFollowUp = options?.method === "POST" && path.endsWith("/runs") && isShown(".exchange .report article");
  while (isFollowUp && !isShown(".exchange:nth-of-type(2) .task")) await new Promise((go) => setTimeout(go, 20));
  return response;
};"""
"""Confirms a follow-up only when its research is shown."""


def test_a_follow_up_that_begins_before_it_is_confirmed_is_shown_once(reader: Reader) -> None:
    with reader.page(script=LATE) as page:
        ask(page)
        page.locator(".report article").wait_for()
        reply(page, FURTHER, "Ask")
        page.locator(".exchange").nth(1).locator(".report article").get_by_text(
            FACTS["harbour"]
        ).wait_for()
        assert page.locator("h1.question").all_inner_texts() == [QUESTION, FURTHER]


def test_a_message_is_read_by_researchers_at_work_and_the_page_says_by_whom(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    desk.forget()
    with reader.page() as page:
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        reply(page, MATTERS, "Send")
        message = page.locator(".talk .user", has_text=MATTERS)
        message.get_by_text(
            "Sent. Each researcher at work reads it before the next call."
        ).wait_for()
        words = page.locator("#words")
        pytest.importorskip("playwright.sync_api").expect(words).to_have_value("", timeout=WAIT)
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.set_viewport_size({"width": 1500, "height": 900})
        page.reload()
        message.get_by_text("Sent. Each researcher").wait_for()
        words.fill("And the harbour")
        desk.holds.release()
        page.locator(".report article").wait_for()
        assert words.input_value() == "And the harbour"
        assert message.locator(".quiet").inner_text() == "Read by “keeper” and the lead."
        assert FACTS["keeper"] in page.locator(".report article").inner_text()
    requests = desk.lab.models.requests
    asked = Counter(map(point_of, requests))
    assert [asked[Point("researcher", "keeper", results)] for results in (0, 1, 2)] == [1, 1, 1]
    shown = {point_of(request): request.prompt.count(MATTERS) for request in requests}
    assert (shown[HELD], shown[Point("researcher", "keeper", 1)]) == (0, 1)
    assert shown[Point("researcher", "light", 0)] == 0


def test_research_is_finished_with_what_it_has(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        finish = page.get_by_role("button", name="Finish with what you have")
        assert barriers_at(page, barriers_of, 1500, 390) == []
        finish.click()
        page.get_by_text("Finishing with what was found").wait_for()
        assert finish.count() == 0
        desk.holds.release()
        page.locator(".report article").wait_for()
        report = page.locator(".report").inner_text()
        assert FACTS["light"] in report
        assert "the report was asked for before the research was complete" in report


def test_the_clock_never_runs_backwards(reader: Reader, desk: WireDesk) -> None:
    with reader.page() as page:
        page.clock.install()
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        page.clock.fast_forward(90_000)
        clock = page.locator("#strip .clock", has_text=re.compile("^1 min"))
        clock.wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped. The results so far are saved.").wait_for()
        page.clock.fast_forward(600_000)
        desk.holds.points.add(HELD)
        page.locator("[data-part=end]").get_by_role("button", name="Continue").click()
        clock.wait_for()
        desk.holds.release()
        page.locator(".report article").wait_for()
        # The server measures the time of work itself.
        assert " of work in " not in page.locator(".byline").inner_text()


@pytest.mark.fault(56)
def test_a_page_goes_on_with_the_next_server(
    reader: Reader, desk: WireDesk, server: Server
) -> None:
    with reader.page() as page:
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        server.stop()
        page.get_by_text("The connection was lost; trying again.").wait_for(state="attached")
        assert page.get_by_role("alert").count() == 0
        reply(page, MATTERS, "Send")
        page.get_by_text("Your last step may not have arrived").wait_for(state="attached")
        server.start(server.port)
        page.locator(".report article").wait_for()
        assert page.locator("#words").input_value() == MATTERS
        assert FACTS["keeper"] in page.locator(".report article").inner_text()
        page.locator(".byline", has_text="source").wait_for()
        # The browser notes each connection that is lost or refused.
        lost = [words for words in reader.said if "net::ERR_" in words]
        assert lost and lost == reader.said
        reader.said.clear()


def test_after_a_kill_the_page_shows_what_has_become_of_the_run(
    reader: Reader, desk: WireDesk, server: Server
) -> None:
    with reader.page() as page:
        page.clock.install()
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        # A text that is not sent yet stays.
        page.locator("#words").fill("Mind the years")
        server.kill()
        lost = page.locator("#link", has_text="The connection was lost; trying again.")
        lost.wait_for()
        page.clock.pause_at(page.evaluate("Date.now() + 1000"))
        time_shown = page.locator("#strip .clock").inner_text()
        page.clock.run_for(60_000)
        assert page.locator("#strip .clock").inner_text() == time_shown
        # The list of runs is lost with the process, so the run does not go on by itself.
        server.forget()
        server.start(server.port)
        # A busy server may miss the first tries, so their clock has to go on.
        page.clock.resume()
        lost.wait_for(state="hidden")
        page.get_by_text("This run was stopped.").wait_for()
        assert page.locator("#strip").is_hidden()
        page.locator(".runs [aria-current]", has_text="Stopped").wait_for()
        assert page.locator("#words").input_value() == "Mind the years"
        page.get_by_role("button", name="Continue").first.click()
        page.locator(".report article", has_text=FACTS["keeper"]).wait_for()
        lost_requests = [words for words in reader.said if "net::ERR_" in words]
        assert lost_requests == reader.said
        reader.said.clear()


def test_a_model_that_falls_silent_is_named_until_it_answers(
    reader: Reader, desk: WireDesk, barriers_of: Barriers, tmp_path: Path
) -> None:
    ANSWERS.clear()
    settings = {
        "DEEP_RESEARCH_DOCS": "",
        "DEEP_RESEARCH_SERVER_REQUIRE_TOKEN": "true",
        FOLDER: str(tmp_path),
    }
    config = write_config(tmp_path, "on_file_clock")
    with (
        Server(tmp_path, config, **settings) as server,
        Reader(reader.browser, server).page() as page,
    ):
        page.clock.install()
        ask(page, SLOW)
        task = page.locator(".task")
        task.locator(".now", has_text="Starting").wait_for()
        assert page.get_by_text("No answer").count() == 0
        (tmp_path / MOVED).write_text("41", "utf-8")
        silent = re.compile(r"No answer from the model for .*, still trying")
        task.locator(".now", has_text=silent).wait_for()
        # Other calls have been answered since; only time without any sign is shown below.
        assert page.locator("#strip", has_text=silent).count() == 0
        page.clock.fast_forward(35_000)
        page.locator("#strip", has_text=silent).wait_for()
        assert re.search(r"at work · \d+ (s|min)\b", task.inner_text())
        assert barriers_at(page, barriers_of, 1500, 390) == []
        ANSWERS.set()
        page.locator(".report article", has_text=FACTS["keeper"]).wait_for()
        page.wait_for_function("() => !document.body.innerText.includes('No answer')")


def test_a_run_whose_model_was_gone_goes_on_once_it_is_back(reader: Reader) -> None:
    ANSWERS.clear()
    with reader.page() as page:
        ask(page, AWAY)
        failed = page.get_by_role("heading", name="This run failed")
        failed.wait_for()
        assert "500" in page.get_by_role("alert").inner_text()
        ANSWERS.set()
        page.get_by_role("button", name="Try again").click()
        page.locator(".report article", has_text=FACTS["light"]).wait_for()
        assert failed.count() == 0


def test_after_a_failed_change_the_box_stays_and_what_is_asked_there_takes_its_place(
    reader: Reader, barriers_of: Barriers
) -> None:
    def change() -> None:
        ANSWERS.clear()
        choose_edit(page)
        reply(page, UNANSWERED, "Change it")
        page.get_by_role("heading", name="This run failed").wait_for()
        ANSWERS.set()

    with reader.page() as page:
        ask(page)
        page.locator(".report article").wait_for()
        change()
        page.get_by_text("What you ask below takes its place.").wait_for()
        assert "not of the answer" not in page.locator(".composer .ways").inner_text()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.set_viewport_size({"width": 1500, "height": 900})
        page.locator("#words").fill("Name the ye")
        page.get_by_role("button", name="Try again").click()
        page.locator(".done", has_text="Nothing else had to change.").wait_for()
        assert page.locator("#words").input_value() == "Name the ye"
        change()
        choose_edit(page)
        reply(page, SHORTER, "Change it")
        page.locator(".report article", has_text="first lit in 1844").wait_for()
        change()
        reply(page, FURTHER, "Ask")
        page.locator(".report article", has_text=FACTS["harbour"]).wait_for()
        asked = [QUESTION, UNANSWERED, UNANSWERED, SHORTER, UNANSWERED, FURTHER]
        for _ in range(2):
            assert page.locator(".question").all_inner_texts() == asked
            assert page.get_by_text("You closed this question").count() == 2
            assert page.get_by_role("heading", name="This run failed").count() == 0
            page.reload()
            page.locator(".report article", has_text=FACTS["harbour"]).wait_for()


def test_a_stopped_change_is_discarded_and_the_versions_stay(
    reader: Reader, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        ask(page)
        page.locator(".report article").wait_for()
        choose_edit(page)
        reply(page, SHORTER, "Change it")
        page.locator(".done", has_text=DONE).wait_for()
        ANSWERS.clear()
        choose_edit(page)
        reply(page, SLOWLY, "Change it")
        # Nobody searches who could read a message, and the sources are those of the report.
        page.get_by_label("Instruction for the report").wait_for()
        card = page.locator(".side .source-card").first
        card.wait_for()
        page.get_by_role("button", name="Stop").click()
        versions = page.locator("summary", has_text="2 versions of this report")
        discard = page.get_by_role("button", name="Discard the change")
        for _ in range(2):
            discard.wait_for()
            versions.wait_for()
            card.wait_for()
            page.reload()
        discard.wait_for()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.set_viewport_size({"width": 1500, "height": 900})
        discard.click()
        for _ in range(2):
            page.get_by_text("You closed this question").wait_for()
            versions.wait_for()
            assert page.locator("#draft").count() == 0
            page.reload()
        ANSWERS.set()
        choose_edit(page)
        reply(page, SHORTER, "Change it")
        page.locator(".kind", has_text="Version 3").wait_for()


def test_an_instruction_for_a_change_is_in_view_also_below_earlier_messages(
    reader: Reader, desk: WireDesk
) -> None:
    in_view = pytest.importorskip("playwright.sync_api").expect
    with reader.page(height=500) as page:
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        reply(page, MATTERS, "Send")
        page.locator(".talk .user", has_text=MATTERS).wait_for()
        desk.holds.release()
        page.locator(".report article").wait_for()
        ANSWERS.clear()
        choose_edit(page)
        reply(page, SLOWLY, "Change it")
        page.get_by_label("Instruction for the report").wait_for()
        reply(page, "And name the keeper", "Send")
        second = page.locator(".exchange").nth(1)
        message = second.locator(".talk .user", has_text="And name the keeper")
        in_view(page.locator("#words")).to_have_value("", timeout=WAIT)
        in_view(message).to_be_in_viewport(timeout=WAIT)
        ANSWERS.set()
        second.locator(".done").wait_for()
        in_view(second.locator(".done")).to_be_in_viewport(timeout=WAIT)


def test_each_researcher_shows_what_it_is_doing(reader: Reader, desk: WireDesk) -> None:
    with reader.page() as page:
        desk.hold_page("/log")
        ask(page, DRAWN_OUT)
        lines = page.locator(".task .now")
        lines.nth(0).get_by_text("Reading Harbour log 1844").wait_for()
        lines.nth(1).get_by_text(re.compile(r"Writing: \d\d+ words, 1 fact$")).wait_for()
        for task in page.locator(".task").all():
            assert re.search(r"at work · \d+ (s|min)\b", task.inner_text())
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped").wait_for()
        assert lines.count() == 0


def test_a_failed_researcher_is_named_and_sent_again(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        desk.holds.points.add(HELD)
        ask(page, LEFT_OUT)
        failed = page.locator(".task.failed")
        failed.wait_for()
        assert "light" in failed.locator("h3").inner_text()
        assert "its model wrote nothing" in failed.inner_text()
        assert FACTS["light"] not in failed.inner_text(), "excerpts are no finding"
        assert failed.get_by_role("button", name="Try again").is_visible()
        assert page.get_by_text("0 of 2 tasks done, 1 failed").is_visible()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped").wait_for()
        # A stopped run continues with the task as a message.
        failed.get_by_role("button", name="Try again").click()
        report = page.locator(".report article")
        report.wait_for()
        wish = f"Research this task again, because its researcher failed: {BROKEN_TASK}"
        assert any(wish in request.prompt for request in desk.lab.models.requests)
        assert FACTS["light"] not in report.inner_text()
        page.locator("summary", has_text="Researched 2 topics, 1 failed").click()
        failed.get_by_role("button", name="Try again").click()
        page.locator(".done", has_text=ADDED).wait_for()
        assert FACTS["light"] in report.nth(1).inner_text()
        # A reload shows the same; the earlier report offers it no longer.
        page.reload()
        page.locator(".done", has_text=ADDED).wait_for()
        assert page.get_by_role("button", name="Try again").count() == 0


def test_a_table_is_sorted_and_it_and_the_report_are_copied(reader: Reader) -> None:
    with reader.page() as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        ask(page, LISTED)
        years = page.locator(".report article").get_by_role("button", name="Year")
        cells = page.locator(".report article td:nth-child(2)")
        for expected in (["1844", "1901", "1932"], ["1932", "1901", "1844"]):
            years.click()
            assert [cell.split()[0] for cell in cells.all_inner_texts()] == expected
        page.get_by_role("button", name="Copy table").click()
        page.get_by_role("button", name="Copied").wait_for()
        rows = page.evaluate("navigator.clipboard.readText()").splitlines()
        assert rows[:2] == ["Event\tYear", "Moran ended\t1932"]
        page.locator(".tools").get_by_role("button", name="Copy", exact=True).click()
        page.locator(".tools").get_by_role("button", name="Copied").wait_for()
        assert "| Moran began" in page.evaluate("navigator.clipboard.readText()")


def test_a_failed_run_says_why_also_after_a_reload(reader: Reader) -> None:
    with reader.page() as page:
        ask(page, LOCKED)
        page.get_by_text("check OPENAI_API_KEY").first.wait_for()
        page.reload()
        page.get_by_text("check OPENAI_API_KEY").first.wait_for()
        assert page.get_by_role("heading", name="This run failed").is_visible()
        assert page.get_by_role("button", name="Try again").is_visible()
    log = reader.server.log.read_text("utf-8")
    assert "KeyRefused" in log and "Traceback" not in log


def test_a_run_of_the_command_line_goes_on_in_the_page(reader: Reader, desk: WireDesk) -> None:
    desk.desk.run(
        "ask", UNCLEAR, "--thread", "from-the-command-line", "--data-dir", str(reader.server.data)
    )
    with reader.page() as page:
        page.get_by_role("navigation").get_by_role("link").filter(
            has_text="Waiting for you"
        ).first.click()
        page.get_by_text("Which of them?").wait_for()
        reply(page, "The light and its keeper", "Answer")
        page.locator(".report article").wait_for()
        assert FACTS["light"] in page.locator(".report article").inner_text()


def test_versions_are_compared_and_put_back(reader: Reader, barriers_of: Barriers) -> None:
    with reader.page() as page:
        ask(page)
        page.locator(".report article").wait_for()
        assert page.locator(".versions").count() == 0
        reply(page, FURTHER, "Ask")
        page.locator(".report article").nth(1).wait_for()
        assert page.locator(".versions").count() == 1
        # The first report leads to the list, which stands at the latest one.
        first = page.locator(".exchange").first
        first.get_by_role("link", name="All 2 versions").wait_for()
        page.locator("summary", has_text="2 versions of this report").click()
        rows = page.locator(".versions li")
        assert [row.locator("strong").inner_text() for row in rows.all()] == [
            "Version 2",
            "Version 1",
        ]
        assert "The latest" in rows.nth(0).inner_text()
        assert "First report" in rows.nth(1).inner_text()
        page.set_viewport_size({"width": 1500, "height": 500})
        rows.nth(1).get_by_role("button", name="Changes").click()
        changes = rows.nth(1).locator(".difference")
        changes.locator("ins").first.wait_for()
        # What opens below the control is in view, above the box.
        shown, dock = changes.bounding_box(), page.locator("#dock").bounding_box()
        assert 56 < shown["y"] < dock["y"] - 100
        page.set_viewport_size({"width": 1500, "height": 900})
        # As the report is read, without the signs of Markdown.
        assert "](" not in changes.inner_text() and "**" not in changes.inner_text()
        added = changes.locator("ins").all_inner_texts()
        assert FACTS["harbour"] in " ".join(added) and changes.locator("del").count() == 0
        rows.nth(1).get_by_role("button", name="Changes").click()
        assert changes.locator("ins").count() == 0
        rows.nth(1).get_by_role("button", name="Back to version 1").click()
        third = page.locator(".exchange").nth(2)
        third.locator(".report article").get_by_text(FACTS["keeper"]).wait_for()
        assert third.locator("h1").inner_text() == "Back to version 1"
        page.locator("summary", has_text="3 versions of this report").click()
        assert "Back to version 1" in rows.first.inner_text()
        rows.nth(1).get_by_role("button", name="Changes").click()
        removed = rows.nth(1).locator("del")
        removed.first.wait_for()
        assert FACTS["harbour"] in " ".join(removed.all_inner_texts())
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.set_viewport_size({"width": 1500, "height": 900})
        third.locator("button.cite").first.click()
        page.locator("aside.quote:popover-open").get_by_role("button", name="Show it").click()
        assert page.locator("#source mark").first.inner_text() == FACTS["light"].rstrip(".")
        page.locator("#source").get_by_role("button", name="Close").click()
        # After a reload all three reports are there, and the next question refers to the last.
        page.reload()
        page.locator(".report article").nth(2).wait_for()
        questions = [QUESTION, FURTHER, "Back to version 1"]
        assert page.locator("h1.question").all_inner_texts() == questions
        texts = page.locator(".report article").all_inner_texts()
        assert texts[0] == texts[2] != texts[1]
        reply(page, MORE, "Ask")
        page.locator(".report article").nth(3).wait_for()
        page.locator("summary", has_text="4 versions of this report").wait_for()


CHANGED = """() => {
  const marked = [...document.querySelectorAll('[data-changed="new"]')];
  return marked.length ? marked.map((element) => element.localName) : null;
}"""
"""The marked blocks, as soon as there are any."""


def test_a_report_is_changed_in_place_and_what_changed_is_marked_for_a_moment(
    reader: Reader, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        ask(page, LISTED)
        page.locator(".report article table").wait_for()
        choose_edit(page)
        reply(page, SHORTER, "Change it")
        assert page.wait_for_function(CHANGED).json_value() == ["p", "li", "li"]
        second = page.locator(".exchange").nth(1)
        assert second.locator("h1").inner_text() == SHORTER
        assert second.locator(".kind").inner_text() == f"Version 2 of “{LISTED}”"
        assert second.locator(".done").inner_text() == f"Version 2: {DONE} Show the change Undo"
        assert second.locator("article table").count() == 1
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.locator('[data-changed="seen"]').nth(2).wait_for()
        assert page.locator('[data-changed="new"]').count() == 0
        page.locator("summary", has_text="2 versions of this report").click()
        assert "Edited" in page.locator(".versions li").first.inner_text()
        newer = page.locator(".exchange").first.locator(".newer")
        assert newer.inner_text() == "Version 2 of this report is ready."
        newer.get_by_role("link").click()
        assert page.evaluate("document.activeElement.textContent") == SHORTER
        # After a reload nothing is marked, and the line is still there.
        page.reload()
        second.locator(".done").wait_for()
        second.locator("article li").first.wait_for()
        assert page.locator("[data-changed]").count() == 0
        second.get_by_role("button", name="Show the change").click()
        assert page.wait_for_function(CHANGED).json_value() == ["p", "li", "li"]
        assert page.evaluate("document.activeElement.matches('p[data-changed]')")
        # The report on a further question is no newer state of this one.
        reply(page, FURTHER, "Ask")
        page.locator(".exchange").nth(2).locator(".report article").wait_for()
        for _ in range(2):
            lines = page.locator(".version-line").all_inner_texts()
            assert lines[:2] == ["Version 2 of this report is ready.", "All 3 versions"]
            assert lines[2].startswith("3 versions of this report")
            page.reload()
            page.locator(".exchange").nth(2).locator(".report article").wait_for()


def test_a_report_that_cites_an_excluded_source_is_made_anew_without_it(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect

    def open_source(number: str) -> None:
        page.locator(".report").first.locator("button.cite", has_text=number).click()
        quote = page.locator("aside.quote:popover-open")
        quote.get_by_role("button", name="Show it in the source").click()

    with reader.page() as page:
        ask(page)
        page.locator(".report article").wait_for()
        # Between two questions: a run has taken the thread and has stored nothing yet.
        database, thread = reader.server.data / FILE_NAME, thread_id(page.url.rpartition("/")[2])
        lease = "INSERT INTO leases VALUES (?, 'other', ?, ?, ?, '2026-01-01', ?)"
        queried(database, lease, thread, *this_process(), time.monotonic())
        page.reload()
        page.locator("#strip").wait_for()
        page.locator(".report article").wait_for()
        queried(database, "DELETE FROM leases WHERE owner = 'other'")
        page.reload()
        source = page.locator("#source")
        page.locator(".source-card", has_text="Keeper").click()
        expect(source.get_by_role("button", name="Include again")).to_have_count(0)
        expect(source.get_by_role("button", name="Replace it")).to_be_visible()
        # Before anything changes, the page says what will.
        asked = source.get_by_role("group", name="Are you sure?")
        source.get_by_role("button", name="Don’t use this source").click()
        expect(asked).to_contain_text("Makes version 2 of the report without [2]: the statement")
        expect(asked).to_contain_text("You can go back to version 1.")
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.set_viewport_size({"width": 1500, "height": 900})
        asked.get_by_role("button", name="Cancel").click()
        expect(asked).to_have_count(0)
        source.get_by_role("button", name="Don’t use this source").click()
        asked.get_by_role("button", name="Take it out").click()
        second = page.locator(".exchange").nth(1)
        second.locator(".done", has_text="Version 2: ").wait_for()
        assert "was taken out. Show the change Undo" in second.locator(".done").inner_text()
        assert second.locator("h1").inner_text() == "Do without these sources: [2] Keeper."
        article = second.locator(".report article")
        article.wait_for()
        assert FACTS["light"] in article.inner_text()
        assert FACTS["keeper"] not in article.inner_text()
        # It stays listed, also after a reload. Used again, it makes no other version.
        page.reload()
        excluded = page.locator("#side li", has=page.locator("s", has_text="Keeper"))
        expect(excluded).to_contain_text("excluded", timeout=WAIT)
        assert barriers_at(page, barriers_of, 1500) == []
        page.set_viewport_size({"width": 1500, "height": 900})
        open_source("2")
        expect(source.get_by_role("button", name="Include again")).to_be_visible()
        expect(source.locator(".source-use")).to_contain_text("version 2 of the report and answers")
        source.get_by_role("button", name="Close").click()
        excluded.get_by_role("button", name="Include again: Keeper").click()
        expect(page.locator("#side s")).to_have_count(0, timeout=WAIT)
        open_source("2")
        source.get_by_role("button", name="Don’t use this source").wait_for()
        source.get_by_role("button", name="Close").click()
        assert page.locator(".exchange").count() == 2
        # While a run is at work, neither is offered.
        desk.holds.points.add(Point("researcher", "harbour"))
        reply(page, FURTHER, "Ask")
        page.locator(".exchange").nth(2).locator(".task").first.wait_for()
        open_source("1")
        source.get_by_role("heading", name="Light").wait_for()
        assert source.get_by_role("button", name="Don’t use this source").count() == 0
        source.get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped").wait_for()


def test_an_exclusion_is_undone_and_reports_that_cite_its_source_say_so(reader: Reader) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    with reader.page() as page:
        ask(page)
        page.locator(".report article").wait_for()
        reply(page, FURTHER, "Ask")
        answer = page.locator(".exchange").nth(1)
        answer.locator(".report article").wait_for()
        source = page.locator("#source")
        asked = source.get_by_role("group", name="Are you sure?")
        page.locator(".source-card", has_text="Light").click()
        source.get_by_role("button", name="Don’t use this source").click()
        expect(asked).to_contain_text("Makes version 3 of the report without [1]: the statement")
        asked.get_by_role("button", name="Take it out").click()
        third = page.locator(".exchange").nth(2)
        third.locator(".report article").wait_for()
        # What is not made anew says what it still cites.
        first = page.locator(".exchange").first
        expect(first.locator(".cites-excluded")).to_contain_text("cites [1], which you have")
        expect(page.locator(".cites-excluded")).to_have_count(1)
        third.get_by_role("button", name="Show the change").click()
        expect(third.locator(".difference del").first).to_contain_text(FACTS["light"])
        page.locator("#side li", has=page.locator("s")).locator(".source-card").click()
        source.get_by_text("version 3 of the report and answers").wait_for()
        source.get_by_role("button", name="Undo").click()
        fourth = page.locator(".exchange").nth(3)
        fourth.locator(".report article", has_text=FACTS["light"]).wait_for()
        expect(fourth.locator("h1")).to_have_text("Back to version 2")
        expect(page.locator(".cites-excluded")).to_have_count(0)
        expect(page.locator("#side s")).to_have_count(0)
        assert page.get_by_role("button", name="Undo").count() == 0


def test_runs_are_searched_renamed_and_deleted_unless_it_is_undone(
    reader: Reader, desk: WireDesk
) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    with reader.page() as page:
        ask(page, f"{QUESTION} Tell me of the heron.")
        page.locator(".report article").wait_for()
        runs = page.locator(".runs li")
        page.get_by_label("Search runs").fill("heron")
        expect(runs).to_have_count(1, timeout=WAIT)
        act_on(page, "Rename")
        page.get_by_label("New name of the run").fill("The bird")
        page.keyboard.press("Enter")
        runs.filter(has_text="The bird").wait_for()
        act_on(page, "Delete")
        page.get_by_role("button", name="Undo").click()
        runs.filter(has_text="The bird").wait_for()
        expect(runs.first).to_contain_text("Done · Report")
        page.get_by_label("Search runs").fill("")
        desk.holds.points.add(HELD)
        ask(page, f"{QUESTION} Tell me of the heron again.")
        page.locator(".task.done").first.wait_for()
        # What is at work stands above all days, and the list is walked by arrow keys.
        expect(page.locator(".runs section").first).to_contain_text("In progress")
        page.get_by_label("Search runs").focus()
        page.keyboard.press("ArrowDown")
        expect(runs.first.locator("a")).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(runs.nth(1).locator("a")).to_be_focused()
        page.keyboard.press("ArrowUp")
        page.get_by_label("Search runs").fill("zebra")
        page.get_by_text("No run matches “zebra”").wait_for()
        page.get_by_label("Search runs").fill("heron")
        expect(runs).to_have_count(2, timeout=WAIT)
        with page.expect_response(lambda response: response.request.method == "DELETE") as deleted:
            act_on(page, "Delete")
        assert deleted.value.status == 204
        expect(runs).to_have_count(1, timeout=WAIT)
        page.reload()
        page.locator(".depths").wait_for()
        assert runs.filter(has_text="again").count() == 0


WATCH = """
addEventListener("DOMContentLoaded", () => {
  window.seen = [];
  new MutationObserver(() => {
    const section = document.querySelector("#column > .exchange:last-child");
    const part = section?.querySelector(`[data-part="${section.dataset.stage}"]`);
    if (!part) return;
    const {top, bottom} = part.getBoundingClientRect();
    window.seen.push([section.dataset.stage, top, bottom, innerHeight]);
  }).observe(document.body, {childList: true, subtree: true, characterData: true});
});
"""
"""Records the position of the part at work after each change of the page."""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_part_at_work_stays_in_view(
    reader: Reader, desk: WireDesk, width: int, height: int
) -> None:
    with reader.page(width, height=height, script=WATCH) as page:
        ask(page, WIDE)
        page.locator(".report article h2").nth(SECTIONS - 1).wait_for()
        seen = page.evaluate("window.seen")
        assert {stage for stage, *_ in seen} >= {"research", "report"}
        assert [
            position
            for position in seen
            if not (position[1] < position[3] - 150 and position[2] > 56)
        ] == []
        top = page.locator(".report article p").first.bounding_box()["y"]
        assert top < (300 if width == 1440 else height / 2)
        assert page.locator("#jump").is_hidden()
        desk.holds.points.add(Point("researcher", "painter"))
        reply(page, PAINTED, "Ask")
        task = page.locator(".exchange").nth(1).locator(".task")
        task.wait_for()
        page.mouse.move(width / 2, height / 2)
        page.mouse.wheel(0, -5000)
        page.locator("#jump").click()
        assert 0 < task.bounding_box()["y"] < height - 150
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped").wait_for()


PIECES = """async () => {
  const {Writing} = await import("/page/markdown.js");
  const changes = async (words) => {
    const element = document.body.appendChild(document.createElement("article"));
    const writing = new Writing(element);
    let text = "";
    while (text.split(" ").length < words) text += "A sentence of five words. ".repeat(20) + "\\n\\n";
    writing.show(text);
    let count = 0;
    const observer = new MutationObserver((records) => { count += records.length; });
    observer.observe(element, {childList: true, subtree: true, characterData: true});
    for (let piece = 0; piece < 50; piece += 1) writing.show(text += "some more words ");
    await new Promise((resolve) => setTimeout(resolve));
    element.remove();
    return count;
  };
  return [await changes(1000), await changes(20000)];
}"""
"""Counts the changes of the page by fifty pieces at the end of a report of 1,000 and of 20,000
words."""


def test_a_piece_of_a_long_report_costs_no_more_than_one_of_a_short_report(reader: Reader) -> None:
    with reader.page() as page:
        short, long = page.evaluate(PIECES)
        assert short == long


def test_the_page_meets_the_accessibility_rules_at_any_width(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    widths = (1500, 1100, 390)
    with reader.page() as page:
        show_options(page)
        assert barriers_at(page, barriers_of, *widths) == []
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        assert barriers_at(page, barriers_of, *widths) == []
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Continue").first.click()
        page.locator(".report button.cite").first.wait_for()
        page.locator(".checked summary").click()
        assert barriers_at(page, barriers_of, *widths) == []
        page.get_by_role("button", name="Sources").click()
        assert page.locator(".source-card").first.is_visible()
        assert barriers_at(page, barriers_of, 390) == []


def test_without_a_model_reports_quote_documents_and_attached_files(
    reader: Reader, barriers_of: Barriers, tmp_path: Path
) -> None:
    files = {
        "tariff.pdf": TARIFF,
        "berths.csv": BERTHS,
        "locked.pdf": locked("a password"),
        "left-out.txt": b"Never sent.",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with (
        Server(
            tmp_path, DEEP_RESEARCH_SERVER_REQUIRE_TOKEN="true", DEEP_RESEARCH_MODELS="extractive"
        ) as server,
        Reader(reader.browser, server).page() as page,
    ):
        assert page.get_by_text("No language model is set").is_visible()
        promise = (
            "You get quotations that answer your question, from your 4 files and the web (Tavily)."
        )
        assert page.locator("#promise").inner_text() == promise
        page.locator(".example").first.click()
        assert page.get_by_role("textbox", name="Question").input_value()
        page.locator(".ask [data-files]").set_input_files([tmp_path / name for name in files])
        page.get_by_role("button", name="Remove left-out.txt").click()
        assert page.locator("#files li").all_inner_texts() == [f"{name}×" for name in [*files][:3]]
        ask(page, ATTACHED_QUESTION)
        report = page.locator(".report-part article")
        report.get_by_text("47 crowns").wait_for()
        assert "44" in report.inner_text()
        assert page.get_by_text("Change the report").count() == 0
        sent = page.locator(".exchange .files li").all_inner_texts()
        assert sent[:2] == ["tariff.pdf", "berths.csv"] and sent[2].startswith(
            "locked.pdf: not read, "
        )
        assert barriers_of(page) == []
        page.locator(".composer [data-files]").set_input_files(tmp_path / "left-out.txt")
        reply(page, "When was the Skerry Light lit?", "Ask")
        page.locator(".exchange").nth(1).locator(".files", has_text="left-out.txt").wait_for()
        assert page.locator("#files li").count() == 0
        page.locator(".report article", has_text="1844").wait_for()
        page.goto(f"{server.url}/#/")
        page.get_by_role("link", name="check a report from elsewhere").click()
        page.get_by_role("button", name="Check").click()
        page.get_by_text("Paste a report, or attach it.").wait_for()
        page.get_by_label("Report").fill(FOREIGN)
        page.get_by_label("What it was asked for").fill("a" * 32_001)
        page.get_by_role("button", name="Check").click()
        page.get_by_text("The request has 32001 characters; at most 32000").wait_for()
        page.get_by_label("Report").fill(FOREIGN)
        page.get_by_label("What it was asked for").fill(QUESTION)
        page.get_by_role("button", name="Check").click()
        page.get_by_role("heading", name="Checked report").wait_for()
        assert "1 numbers found" in page.locator(".standing").inner_text()
        assert barriers_of(page) == []


def test_a_question_is_asked_and_its_sources_are_read_by_keyboard_alone(reader: Reader) -> None:
    with reader.page() as page:
        page.keyboard.type(QUESTION)
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("In two lines.")
        page.keyboard.press("Enter")
        page.locator(".report button.cite").first.wait_for()
        active = "document.activeElement"
        # From the box, through the list of runs.
        for _ in range(200):
            page.keyboard.press("Tab")
            if page.evaluate(f"{active}.matches('.report button.cite')"):
                break
        page.locator("#hint:popover-open", has_text=FACTS["light"]).wait_for()
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


def test_the_first_view_says_what_a_run_gives_and_from_where(
    reader: Reader, barriers_of: Barriers, tmp_path: Path
) -> None:
    with reader.page() as page:
        promise = page.locator("#promise").inner_text()
        assert promise.startswith(
            "You get a report with citations, written by fake-1, from the web (Tavily)."
        )
        assert page.locator(".example").count() == 3
    (tmp_path / "empty").mkdir()
    settings: dict[str, Any] = {
        "DEEP_RESEARCH_DOCS": "empty",
        "DEEP_RESEARCH_SERVER_REQUIRE_TOKEN": "true",
        "DEEP_RESEARCH_ENGINES": "none",
    }
    with (
        Server(tmp_path, **settings) as server,
        Reader(reader.browser, server).page() as page,
    ):
        empty = page.locator(".ask .notice")
        words = (
            "There is nothing to search yet: no file can be read in empty, and web search is off."
        )
        assert words in empty.inner_text()
        # It stands before the question, and no example is offered that nothing would answer.
        question = page.locator("#question").bounding_box()
        assert empty.bounding_box()["y"] < question["y"]
        assert page.locator(".example").count() == 0
        assert barriers_at(page, barriers_of, 1500, 390) == []


def test_the_page_asks_for_a_missing_token(reader: Reader) -> None:
    with reader.page() as page:
        page.evaluate("localStorage.clear()")
        page.goto("about:blank")
        page.goto(reader.server.url)
        page.get_by_label("Token").fill(reader.server.token)
        assert reader.said and all("401" in words for words in reader.said)
        reader.said.clear()
        page.get_by_role("button", name="Continue").click()
        page.locator("#question").wait_for()
