"""What the page shows of a run at work, and what a reader can do meanwhile. In a real browser, as in
`test_page.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.commands import Point, WireDesk, wire_desk
from kit.engines import Answer, found
from kit.models import QUESTIONS
from kit.openai_server import Received, Reply, say, use
from kit.page import FURTHER, HELD, Barriers, Reader, ask, barriers_at, choose_edit, reply, served
from kit.server import Server
from kit.wire import END, FACTS, hand_out, noted, task_of, verified, written

from deep_research.core.events.blocks import wordings_of

OPEN = "What does the draft leave open?"
SECTIONED = "What is on the coast, in sections?"
LONG = "What is on the coast, in long sections?"
REWORDED = "What is on the coast, in other words?"
FROM_READ = "Who else kept it, by what you have read?"
BROKEN = "Which researcher writes nothing?"
BROKEN_TASK = "light, by a model that writes nothing"
LIT = "It was in 1844, not before, that it was lit."
WRONG = "The keeper's house is from 1777. [2]"
LONG_REPORT = say(f"## Light\n\n{LIT} [1]\n\n{QUESTIONS}\n\n## Keeper\n\n{FACTS['keeper']} [2]")
"""A report whose first section is judged while the second one is written."""
AGAIN = f"Research this task again, because its researcher failed: {BROKEN_TASK}"
WRITER = Point("writer", "", 2)
"""The call for a report on two findings."""
SUGGESTED = [
    "How tall is the Skerry Light, and what does that mean?",
    "How do the lights differ?",
    "Which light should be mended first?",
]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def plan(request: Received) -> Reply:
    checklist = "\n\n## Checklist\n\n- The light\n- The harbour" if OPEN in request.prompt else ""
    return say(f"1. The light\n2. Its keeper{checklist}")


def route(request: Received) -> Reply:
    return use(("answer_from_read" if FROM_READ in request.prompt else "generate_plan", {}))


def orchestrate(request: Received) -> Reply:
    if FURTHER in request.prompt:
        return END if FACTS["harbour"] in request.prompt else hand_out("harbour")
    if BROKEN not in request.prompt:
        return END if FACTS["light"] in request.prompt else hand_out("light", "keeper")
    if AGAIN in request.prompt:
        # The failed researcher has left an excerpt.
        return END if f"Found: {FACTS['light']}" in request.prompt else hand_out("light")
    return END if FACTS["keeper"] in request.prompt else hand_out(BROKEN_TASK, "keeper")


def find(request: Received) -> Reply:
    return say("") if task_of(request) == BROKEN_TASK else noted(request)


def write(request: Received) -> Reply:
    if FROM_READ in request.prompt:
        return say(f"{FACTS['keeper']} [2]")
    if REWORDED in request.prompt:
        return say(f"{LIT} [1] {FACTS['keeper']} [2]")
    if SECTIONED not in request.prompt or FURTHER in request.prompt:
        return LONG_REPORT if LONG in request.prompt else written(request)
    return say(f"## Light\n\n{FACTS['light']} [1]\n\n## Keeper\n\n{FACTS['keeper']} [2]\n\n{WRONG}")


def verify(request: Received) -> Reply:
    if "rewrite_sentences" in request.tools:
        return use(("rewrite_sentences", {"sentences": []}))
    return verified(request)


def grade(request: Received) -> Reply:
    """Send a researcher out on what the draft lacks, then add what it has found."""
    if "suggest_questions" in request.tools:
        return use(("suggest_questions", {"questions": SUGGESTED}))
    if "grade_report" not in request.tools:
        return use(("save_word", {"word": "amber"}))
    answered: list[Any] = [{"number": number, "verdict": "answered"} for number in (1, 2)]
    if FACTS["harbour"] not in request.prompt:
        open_item = {"number": 2, "verdict": "not answered", "missing": "the harbour"}
        return use(("grade_report", {"grades": [answered[0], {**open_item, "task": "harbour"}]}))
    added = {"kind": "insert_after", "block": 1, "text": f"{FACTS['harbour']} [3]"}
    return use(("grade_report", {"edits": [added], "grades": answered}))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    script = {
        "clarifier": route,
        "planner": plan,
        "orchestrator": orchestrate,
        "finding": find,
        "writer": write,
        "verifier": verify,
        "trial": grade,
    }
    with wire_desk(tmp_path_factory.mktemp("wire"), **script) as desk:
        light = found(desk.lab.web.url("/light"), "Light", FACTS["light"])
        desk.lab.engine.on(BROKEN_TASK, Answer([light]))
        yield desk


@pytest.fixture(scope="module")
def reader(desk: WireDesk, chromium: Any) -> Iterator[Reader]:
    with served(desk, chromium) as reader:
        yield reader


IS_WHOLE = """() => {
  const doing = document.querySelector("#strip .doing");
  doing.textContent = "Asking the model again in 12 s: no answer from the model's server";
  return doing.scrollHeight <= doing.clientHeight && doing.scrollWidth <= doing.clientWidth;
}"""
"""Whether the line shows all of long words, beside the buttons."""


def test_each_stage_is_named_with_the_time_that_it_has_taken(
    reader: Reader, desk: WireDesk
) -> None:
    stages = {
        "Reading the question": Point("clarifier"),
        "Planning": Point("planner"),
        "Deciding what to research": Point("orchestrator"),
        "Researching": Point("researcher", "keeper", 1),
        "Evaluating what was found": Point("orchestrator", "", 2),
    }
    with reader.page() as page:
        doing = page.locator("#strip .doing")
        desk.holds.points |= {*stages.values(), WRITER}
        # The writer's model says nothing.
        desk.holds.pieces = 0
        before = len(desk.holds.held)
        ask(page)
        for number, words in enumerate(stages, 1):
            desk.holds.wait_for(before + number)
            doing.filter(has_text=re.compile(rf"^{words} · \d+ s$")).wait_for()
            if words == "Researching":
                line = page.locator(".task .now")
                line.filter(has_text=re.compile(r"^Looking at what was found · \d+ s$")).wait_for()
                page.get_by_role("button", name="Finish with what you have").wait_for()
                assert page.evaluate(IS_WHOLE)
            desk.holds.release()
        doing.filter(has_text=re.compile(r"^Writing the report · \d+ s$")).wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped").wait_for()


def test_a_written_report_whose_sections_are_judged_is_said_to_be_checked(
    reader: Reader, desk: WireDesk
) -> None:
    with reader.page() as page:
        doing = page.locator("#strip .doing")
        desk.holds.points.add(Point("verifier", LIT))
        ask(page, LONG)
        checking = re.compile(rf"^({'|'.join(wordings_of('verify'))})")
        doing.filter(has_text=checking).wait_for()
        assert page.locator("#draft", has_text=FACTS["keeper"]).is_visible()
        page.locator(".byline", has_text="Draft, written and being checked").wait_for()
        page.reload()
        doing.filter(has_text=checking).wait_for()
        # A finished run is not said to be at work while its report and the list are fetched.
        fetched = list[Any]()
        page.route("**/export?*", lambda route: fetched.append(route))
        current = page.locator(".runs a[aria-current=page]")
        current.filter(has_text="Running").wait_for()
        page.route("**/research/runs?*", lambda route: fetched.append(route))
        desk.holds.release()
        page.locator(".tools").wait_for()
        assert page.locator("#draft").is_visible()
        assert not page.get_by_role("button", name="Stop").is_visible()
        assert "Done" in current.inner_text()
        for route in fetched:
            route.continue_()
        page.unroute_all()
        page.locator(".report button.cite").first.wait_for()


def test_it_is_said_how_many_statements_are_checked(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        doing = page.locator("#strip .doing")
        desk.holds.points.add(Point("verifier", LIT))
        ask(page, REWORDED)
        # The other one is a quotation.
        doing.filter(has_text=re.compile(r"^Checking: 1 of 2 statements · \d+ s$")).wait_for()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.reload()
        doing.filter(has_text="Checking: 1 of 2 statements").wait_for()
        desk.holds.release()
        page.locator(".report article").wait_for()


def test_a_follow_up_that_is_answered_from_what_was_read_shows_no_research(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        ask(page)
        page.locator(".report article").wait_for()
        desk.holds.points.add(Point("writer", "", 3))
        reply(page, FROM_READ, "Ask")
        answer = page.locator(".exchange").nth(1)
        answer.get_by_text("Answering from what was read").wait_for()
        page.locator("#strip .doing", has_text="Writing the report").wait_for()
        assert not page.get_by_role("button", name="Finish with what you have").is_visible()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.reload()
        answer.get_by_text("Answering from what was read").wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("This run was stopped").wait_for()
        page.get_by_role("button", name="Continue").first.click()
        answer.locator(".byline", has_text="From what was read").wait_for()
        answer.locator(".report article", has_text=FACTS["keeper"]).wait_for()
        assert answer.locator("[data-part=research], .task").count() == 0


PASSAGES = """async (depth) => {
  const {add, begin} = await import("/page/story.js"), {noSigns} = await import("/page/living.js");
  const {exchangeView} = await import("/page/thread.js");
  const run = {depth, status: "running", messages: [], waiting: {}, versions: [], sources: [], sent: [], follow_ups: [], nodes: [], spent: {calls: 1}, plan: ""};
  const story = begin(), placement = {turn_index: 1, tab_index: 0, sub_turn_index: null};
  const content = "Source [1]:\\n\\n| Year |\\n|---|\\n| 1844 |\\n\\nSource [2]:\\n\\nIt is white.";
  add(story, {type: "research_agent_start", research_task: "Light", placement, at: 1});
  add(story, {type: "intermediate_report_delta", content, placement, at: 2});
  add(story, {type: "intermediate_report_cited_docs", placement, at: 2});
  const view = exchangeView({index: 0, run, story, slice: [], signs: noSigns(), sent: [], isLatest: true, worked: 0, since: 0}, {formats: []});
  return [view.querySelector(".gist")?.textContent, view.querySelector(".task .names:last-child summary")?.textContent];
}"""
"""The excerpt on the card of a task, and what its text is called."""


def test_passages_of_a_single_search_are_not_shown_as_a_finding(reader: Reader) -> None:
    with reader.page() as page:
        assert page.evaluate(PASSAGES, "standard") == [
            "Source: Source: It is white.",
            "Whole finding",
        ]
        assert page.evaluate(PASSAGES, "quick") == [None, "Passages found"]
        assert page.evaluate(PASSAGES, "recalled") == [None, None]


def test_examples_are_worded_from_the_documents_by_the_model_once(
    reader: Reader, desk: WireDesk, tmp_path: Path
) -> None:
    desk.forget()
    token: dict[str, Any] = {"DEEP_RESEARCH_SERVER_REQUIRE_TOKEN": "true"}
    with Server(tmp_path, **token) as server:
        for _ in range(2):
            with Reader(reader.browser, server).page() as page:
                page.locator(".example", has_text=SUGGESTED[0]).wait_for()
                assert page.locator(".example").all_inner_texts() == SUGGESTED
        asked = [each for each in desk.lab.models.requests if "suggest_questions" in each.tools]
        assert len(asked) == 1 and len(asked[0].system + asked[0].prompt) < 8_000
        # Documents that have changed are asked about anew.
        (server.docs / "new.md").write_text("# The Anlow Light\n\n## Height\n\nIt is 40 m tall.")
        with Reader(reader.browser, server).page() as page:
            page.locator(".example", has_text=SUGGESTED[0]).wait_for()
        asked = [each for each in desk.lab.models.requests if "suggest_questions" in each.tools]
        assert len(asked) == 2 and "It is 40 m tall." in asked[1].prompt


COUNTED_DOWN = """async () => {
  const {askingAgain} = await import("/page/living.js");
  let now = 1e12;
  Date.now = () => now;
  const words = askingAgain({seconds: 12, reason: "it is busy"});
  return [0, 5000, 12000].map((later) => (now = 1e12 + later) && words());
}"""


def test_the_time_until_a_model_is_asked_again_is_counted_down(reader: Reader) -> None:
    with reader.page() as page:
        assert page.evaluate(COUNTED_DOWN) == [
            f"Asking the model again {when}: it is busy" for when in ("in 12 s", "in 7 s", "now")
        ]


AWAY = """async () => {
  const {lineOf, notice, noSigns, silence} = await import("/page/living.js");
  const start = 1e12, signs = noSigns(), placement = {turn_index: 1, tab_index: 0};
  const exchange = {signs, run: {status: "running"}, worked: 0, since: start};
  const line = () => [silence(signs), lineOf(exchange, {key: "1.0", now: "Thinking", since: 0})];
  const silent = (seconds) => notice(signs, {type: "call_pending", placement, silent_seconds: seconds});
  Date.now = () => start;
  notice(signs, {type: "call_delayed", placement, seconds: 12, reason: "it is away"});
  silent(40);
  const shown = [line()];
  Date.now = () => start + 45_000;
  silent(85);
  return [...shown, line()];
}"""
"""What is said of a model that is silent until it is asked again, and 33 s later."""


def test_a_silent_model_that_is_asked_again_is_said_to_be_until_it_is_silent_anew(
    reader: Reader,
) -> None:
    silent = "No answer from the model for 33 s, still trying"
    with reader.page() as page:
        assert page.evaluate(AWAY) == [
            [False, "Asking the model again in 12 s: it is away"],
            [silent, silent],
        ]


BEGUN = """async () => {
  const {noSigns} = await import("/page/living.js"), {begin} = await import("/page/story.js");
  const {strip} = await import("/page/thread.js");
  const doing = (nodes, plan) => strip({run: {status: "running", nodes, plan}, story: begin(), signs: noSigns(), passing: null, stepped: 0}, 0, {})
    .find(({className}) => className === "doing").textContent;
  return [doing(["clarify"], ""), doing(["review_plan"], "1. Light"), doing(["researcher"], "1. Light"), doing(["researcher"], "")];
}"""
"""What a run is said to do before its first researcher has said anything."""


def test_a_run_whose_question_was_read_is_not_said_to_read_it_again(reader: Reader) -> None:
    with reader.page() as page:
        assert page.evaluate(BEGUN) == [
            "Reading the question",
            "Deciding what to research",
            "Researching",
            "Researching",
        ]


def test_what_the_draft_leaves_open_is_researched_in_view(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        desk.holds.points.add(Point("researcher", "harbour"))
        ask(page, OPEN)
        card = page.locator(".report-part .more .task")
        card.wait_for()
        assert card.locator("h3").inner_text() == "harbour"
        assert card.locator(".now").inner_text().startswith("Starting · ")
        assert page.locator("#draft", has_text=FACTS["light"]).is_visible()
        assert page.locator("#strip .doing").inner_text().startswith("More research: harbour")
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.reload()
        card.wait_for()
        desk.holds.release()
        page.locator(".report article", has_text=FACTS["harbour"]).wait_for()
        assert card.count() == 0
        page.locator("summary", has_text="Researched 3 topics").click()
        assert page.locator("[data-part=research] .task", has_text="harbour").count() == 1


def test_a_failed_researcher_is_sent_again_while_others_work(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        desk.holds.points.add(HELD)
        ask(page, BROKEN)
        failed = page.locator(".task.failed")
        failed.get_by_role("button", name="Try again").click()
        failed.get_by_text("You have asked for another try.").wait_for()
        message = page.locator(".talk .user", has_text=AGAIN)
        message.get_by_text("Sent. ").wait_for()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        desk.holds.release()
        page.locator(".report article", has_text=FACTS["light"]).wait_for()
        assert "the lead" in message.inner_text()


def test_a_file_that_is_attached_during_research_goes_with_the_next_question(
    reader: Reader, desk: WireDesk, barriers_of: Barriers, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text("The ferry sails at noon.", "utf-8")
    with reader.page() as page:
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        later = page.locator(".composer .later")
        assert later.is_hidden()
        page.locator(".composer [data-files]").set_input_files(tmp_path / "log.txt")
        later.get_by_text("Files go with your next question").wait_for()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        reply(page, "Mind the years", "Send")
        page.locator(".talk .user", has_text="Mind the years").wait_for()
        assert page.locator("#files li").count() == 1
        desk.holds.release()
        page.locator(".report article").wait_for()
        assert later.count() == 0
        reply(page, FURTHER, "Ask")
        page.locator(".exchange").nth(1).locator(".files", has_text="log.txt").wait_for()
        page.locator(".report article").nth(1).wait_for()
        assert page.locator("#files li").count() == 0


def test_a_draft_stays_readable_when_its_run_is_stopped(
    reader: Reader, desk: WireDesk, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        desk.holds.points.add(WRITER)
        # Enough for the page to show a first sentence.
        desk.holds.pieces = 12
        ask(page)
        draft = page.locator("#draft", has_text="The Skerry Light was lit")
        draft.wait_for()
        page.locator("#strip .doing", has_text="Writing the report").wait_for()
        page.get_by_role("button", name="Stop").click()
        stopped = page.get_by_text("This run was stopped.")
        for _ in range(2):
            stopped.wait_for()
            draft.wait_for()
            words = page.locator(".report-part .byline").inner_text()
            assert words == "Unfinished draft, not checked against its sources"
            assert page.locator("#strip").is_hidden()
            assert page.get_by_role("button", name="Copy Markdown").count() == 0
            page.reload()
        draft.wait_for()
        assert barriers_at(page, barriers_of, 1500, 390) == []
        page.locator("[data-part=end]").get_by_role("button", name="Continue").click()
        page.locator(".report article", has_text=FACTS["keeper"]).wait_for()
        page.locator(".byline", has_text="2 sources").wait_for()
        assert page.get_by_text("Unfinished draft").count() == 0


def test_a_message_to_the_researchers_stays_with_its_readers(
    reader: Reader, desk: WireDesk
) -> None:
    # In the form of a plan, which it is not.
    wish = "1. Mind the years\n2. Name the keeper"
    with reader.page() as page:
        desk.holds.points.add(HELD)
        ask(page)
        page.locator(".task.done").first.wait_for()
        reply(page, wish, "Send")
        message = page.locator(".exchange").first.locator(".talk .user")
        message.get_by_text("Sent. Each researcher").wait_for()
        desk.holds.release()
        page.locator(".report article").wait_for()
        reply(page, FURTHER, "Ask")
        page.locator(".report article").nth(1).wait_for()
        for _ in range(2):
            words = message.inner_text()
            assert "Mind the years" in words and "Name the keeper" in words
            assert "Read by “keeper” and the lead." in words
            assert page.get_by_text("edited by you").count() == 0
            page.reload()
            page.locator(".report article").nth(1).wait_for()


def test_below_a_short_answer_the_page_says_which_report_a_change_concerns(
    reader: Reader, barriers_of: Barriers
) -> None:
    with reader.page() as page:
        ask(page, SECTIONED)
        page.locator(".report article", has_text=FACTS["keeper"]).wait_for()
        choose_edit(page)
        words = page.locator(".ways p")
        assert "not of the answer" not in words.inner_text()
        page.get_by_role("radio", name="Ask a follow-up").check()
        reply(page, FURTHER, "Ask")
        page.locator(".report article", has_text=FACTS["harbour"]).wait_for()
        choose_edit(page)
        # What has been said of the report still holds after an answer about it.
        page.locator(".runs [aria-current]", has_text="Done, 1 not verified").wait_for()
        effect = f"Makes version 2 of {SECTIONED}, not of the answer above;"
        assert words.inner_text().startswith(effect)
        assert page.locator(".version-line").all_inner_texts() == ["", ""]
        assert barriers_at(page, barriers_of, 1500, 390) == []


FINDING = """## Light

1. It was **lit** in `1844` [1, 2].
2. See [the log](https://example.org/log). [3]

| Year | Ships |
|---|---|
| 1901 | 12 |"""


def test_the_beginning_of_a_finding_is_shown_without_the_signs_of_markdown(reader: Reader) -> None:
    with reader.page() as page:
        plain = "async (text) => (await import('/page/thread.js')).plain(text)"
        assert page.evaluate(plain, FINDING) == "Light It was lit in 1844. See the log."
