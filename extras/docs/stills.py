"""Makes docs/images/*.png and docs/sample-report.md from one run on the page.

Run it with `PYTHONPATH=tests python extras/docs/stills.py`. Server, page, documents and citations
are real. The model is a fake server: its answers and verdicts were written by hand. Needs Chromium.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.commands import Desk
from kit.models import judged, units_shown
from kit.openai_server import Received, Reply, openai_server, say
from kit.server import Server
from kit.wire import END, answering, hand_out, plain_run, replied, tool_results
from playwright.sync_api import sync_playwright

from deep_research.app.commands import DOCUMENTS

ROOT = Path(__file__).resolve().parents[2]
IMAGES, SAMPLE = ROOT / "docs" / "images", ROOT / "docs" / "sample-report.md"
SECONDS = 120
LINKS = "../app/lighthouses"
ORIGIN = (
    "<!-- Made by extras/docs/stills.py from the documents in app/lighthouses. "
    "The model's answers and verdicts were written by hand. -->\n\n"
)
QUESTION = (
    "Compare the lighthouses on Bell Rock, Skerryvore and Fastnet: who designed them, how tall are they, "
    "and what did the sea do to the works?"
)
PLAN = """# Three rock lighthouses compared

1. Who designed and built each tower
2. How tall the towers are today
3. What the sea did to the works"""
TASKS = (
    "Who designed and built each tower",
    "Heights of the towers",
    "Storms and tides during construction",
)
HELD = TASKS[2]
"""This researcher works until the picture of the research is taken."""
FINDINGS = {
    TASKS[0]: {
        "Robert Stevenson proposed the Bell Rock tower and led the work on the reef.": (
            "Robert Stevenson proposed the tower and led the work on the reef."
        ),
        "How much of the design is that of the chief engineer, John Rennie, is disputed.": (
            "The Northern Lighthouse Board had named John Rennie as chief engineer, because Stevenson was young and "
            "had built nothing of that size.\nHow much of the design is Rennie's has been disputed ever since."
        ),
        "Alan Stevenson, Robert's eldest son, designed Skerryvore.": (
            "Alan Stevenson, the eldest son of Robert Stevenson, designed the lighthouse."
        ),
        "William Douglass designed the present Fastnet tower of Cornish granite.": (
            "William Douglass designed the present tower of Cornish granite."
        ),
    },
    TASKS[1]: {
        "The Bell Rock tower is 35 metres high.": "The tower is 35 metres high.",
        "With 48 metres, Skerryvore is the tallest lighthouse in Scotland.": (
            "With 48 metres the tower is the tallest lighthouse in Scotland."
        ),
        "With 54 metres, Fastnet is the tallest lighthouse in Ireland.": (
            "It was lit on 27 June 1904, and with 54 metres it is the tallest lighthouse in Ireland."
        ),
    },
    TASKS[2]: {
        "At high tide the Bell Rock lies under water.": "At high tide it lies under water.",
        "The builders on the Bell Rock could stand on the reef for a few hours at low tide only.": (
            "The builders could stand on the reef for a few hours at low tide only, so a wooden house on legs was put "
            "up for them beside the tower."
        ),
        "At Skerryvore, a storm in November 1838 swept away the workers' wooden barrack.": (
            "The wooden barrack that was put up for the workers in the first summer was swept away by a storm in "
            "November 1838, when nobody was in it."
        ),
        "After a gale broke a similar tower on the Calf Rock in 1881, Fastnet needed a stronger one.": (
            "After a similar tower on the Calf Rock was broken by a gale in 1881, a stronger one was called for."
        ),
    },
}
"""By task: sentences of the finding, each with the lines of the document that support it."""


def task_of(request: Received) -> str:
    """The task of a researcher, whose prompt names no other."""
    return next(task for task in TASKS if task in request.prompt)


def finding(request: Received) -> Reply:
    """The sentences of a task, each with the number of the document in which its words stand."""
    documents = [result for answer in tool_results(request) for result in answer["results"]]
    numbers = {
        sentence: next(
            result["document"] for result in documents if words.partition("\n")[0] in result["text"]
        )
        for sentence, words in FINDINGS[task_of(request)].items()
    }
    return say("\n".join(f"- {sentence} [{number}]" for sentence, number in numbers.items()))


def report(request: Received) -> Reply:
    """The report, with the numbers that the findings have in the thread."""

    def cited(sentence: str) -> str:
        number = re.search(rf"{re.escape(sentence)} \[(\d+)\]", request.prompt)
        assert number, sentence
        return f"{sentence} [{number[1]}]"

    built, heights, sea = ([cited(sentence) for sentence in FINDINGS[task]] for task in TASKS)
    return say(
        f"## Summary\n\n{heights[2]} {heights[1]} {heights[0]} {sea[1]} {sea[2]}\n\n"
        f"## Who designed them\n\n{' '.join(built)}\n\n"
        f"## What the sea did\n\n{' '.join(sea)}\n\n"
    )


def verdicts(request: Received) -> Reply:
    """The verdict on each unit, with the lines that decide; headings need no source."""
    lines = {sentence: words for found in FINDINGS.values() for sentence, words in found.items()}
    units, _ = units_shown(request.prompt)
    decided = [
        next((words for sentence, words in lines.items() if sentence in unit["says"]), "")
        for unit in units
    ]
    judgement = judged(*(("supported", words) if words else "reasoning" for words in decided))
    return replied(judgement)


@contextmanager
def page_of(server: Server) -> Iterator[Any]:
    """Open the page of a running server in a browser of its own."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 680}, color_scheme="light")
        page.set_default_timeout(SECONDS * 1000)
        page.goto(f"{server.url}/#token={server.token}")
        yield page
        browser.close()


def make(folder: Path) -> None:
    """Run the question and write the pictures and the report."""
    is_pictured = threading.Event()

    def researcher(request: Received) -> Reply:
        if task_of(request) == HELD:
            is_pictured.wait(SECONDS)
        return END

    def orchestrator(request: Received) -> Reply:
        return END if "Skerryvore is the tallest" in request.prompt else hand_out(*TASKS)

    script = {
        **plain_run(),
        **{"planner": lambda _: say(PLAN), "orchestrator": orchestrator, "writer": report},
        **{"researcher": researcher, "finding": finding, "verifier": verdicts},
    }
    with openai_server(answering(script, None)) as models:
        settings = {"DEEP_RESEARCH_DOCS": str(DOCUMENTS), "DEEP_RESEARCH_MODELS": "openai:fake-1"}
        settings |= {
            "DEEP_RESEARCH_TOOL_CALLS": "native",
            "DEEP_RESEARCH_WINDOW": "100000",
            "DEEP_RESEARCH_TRUST_VERIFIER": "true",
        }
        server = Server(folder)
        server.environment |= {**models.environment, **settings}
        with server, page_of(server) as page:
            try:
                walk(page, is_pictured)
                thread = page.url.rpartition("/")[2]
            finally:
                is_pictured.set()
    done = Desk(folder).run("export", thread, "--out", str(SAMPLE))
    assert done.code == 0, done.err
    SAMPLE.write_text(ORIGIN + linked(SAMPLE.read_text("utf-8")), "utf-8")


def linked(text: str) -> str:
    """The report with links to the documents in place of those to the server, which is gone."""
    names = dict(re.findall(r"^- \[(\d+)\] .* — (\S+),", text, re.MULTILINE))
    return re.sub(
        r"^\[(\d+)\]: <.*>$",
        lambda link: f"[{link[1]}]: {LINKS}/{names[link[1]]}",
        text,
        flags=re.MULTILINE,
    )


def walk(page: Any, is_pictured: threading.Event) -> None:
    """Ask, accept the plan, watch the research and open a citation; a picture of each."""
    page.locator("summary", has_text="Options").click()
    page.get_by_label("Show me the plan first").check()
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.get_by_role("button", name="Start research").click()
    page.locator(".lines textarea").nth(2).wait_for()
    page.screenshot(path=IMAGES / "plan.png")
    page.get_by_role("button", name="Start research").click()
    page.locator(".task.done").nth(1).wait_for()
    page.screenshot(path=IMAGES / "research.png")
    is_pictured.set()
    page.locator(".report article").wait_for()
    page.locator(".report button.cite").first.click()
    page.locator("aside.quote:popover-open").wait_for()
    page.screenshot(path=IMAGES / "report.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
