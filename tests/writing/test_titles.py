"""A title that a model writes above its report is found, and headings of sections are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.runs import lab, report_of

from deep_research.core.writing._titles import split_title

BODY = "It was lit in 1844. [1]"


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        (f"# The Light\n\n{BODY}", "The Light", BODY),
        (f"\n\n# **The *Light*** [1] #\n{BODY}", "The Light", BODY),
        (f"The Light\n=========\n\n{BODY}", "The Light", BODY),
        (f"# The Light\n\n## Summary\n\n{BODY}", "The Light", f"## Summary\n\n{BODY}"),
        (f"# 灯台\n\n{BODY}\n\n```sh\n# a comment\n```", "灯台", f"{BODY}\n\n```sh\n# a comment\n```"),
        (f"# The Light\n\n{BODY}\n\nBuilt\n-----\n\nIn 1840.", "The Light", f"{BODY}\n\nBuilt\n-----\n\nIn 1840."),
    ],
)  # fmt: skip
def test_a_first_heading_that_is_alone_on_the_first_level_is_the_title(
    text: str, title: str, body: str
) -> None:
    assert split_title(text) == (title, body)


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"## The Light\n\n{BODY}",
        f"# Summary\n\n{BODY}\n\n# Details\n\nThe lamp is gone.",
        f"# Summary\n\n{BODY}\n\nDetails\n=======\n\nThe lamp is gone.",
        f"{BODY}\n\n# The Light\n\nIt is white.",
        "# The Skerry Light was lit in 1844.",
        f"#1 of the lights\n\n{BODY}",
        f"| a |\n===\n{BODY}",
    ],
)
def test_other_texts_have_no_title(text: str) -> None:
    assert split_title(text) == ("", text)


def shown(run: Any) -> str:
    """The report as its packets stream it."""
    return "".join(packet["content"] for packet in run.of_type("message_delta"))


PLAN = "# Questions on the light\n\n1. When was it lit?"


async def test_the_title_of_the_writer_stands_above_a_report_once(tmp_path: Path) -> None:
    run = lab(tmp_path, planner=[PLAN], writer=[f"# The Skerry Light\n\n{BODY}"])
    state = await run.ask()
    assert state.report and state.report.text == BODY
    assert state.title == "The Skerry Light"
    assert [version.title for version in state.versions.values()] == ["The Skerry Light"]
    assert state.messages[-1].text.startswith(f"# The Skerry Light\n\n{BODY[:-4]}")
    assert "# " not in shown(run)


async def test_a_report_without_a_title_has_that_of_the_plan(tmp_path: Path) -> None:
    run = lab(tmp_path, planner=[PLAN], writer=[BODY])
    state = await run.ask()
    assert state.title == "Questions on the light"
    assert state.messages[-1].text.startswith(f"# Questions on the light\n\n{BODY[:-4]}")


async def test_a_report_whose_sections_are_on_the_first_level_keeps_their_headings(
    tmp_path: Path,
) -> None:
    text = f"# Light\n\n{BODY}\n\n# Keeper\n\nAda Moran kept it. [1]"
    _, state = await report_of(tmp_path, writer=[text])
    assert state.report and state.report.text == text
