"""The page on the architecture shows the graphs as they are."""

from __future__ import annotations

import drawing


def test_the_drawn_graphs_are_the_real_ones() -> None:
    page = drawing.PAGE.read_text(encoding="utf-8")
    assert page.count("```mermaid") == len(drawing.drawings())
    assert drawing.drawn(page) == page, "run `make docs`"


def test_a_stale_drawing_is_noticed() -> None:
    page = drawing.PAGE.read_text(encoding="utf-8").replace("collect --> orchestrate;", "collect --> plan;")
    assert drawing.drawn(page) != page
