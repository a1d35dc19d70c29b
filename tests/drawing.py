"""Draws the graphs into docs/architecture.md."""

from __future__ import annotations

import re
from pathlib import Path

from deep_research.graph.drawable import compile_drawable
from deep_research.graph.orchestrated import build_orchestrated_graph
from deep_research.graph.planned import build_planned_graph
from deep_research.graph.researcher import build_researcher_graph
from deep_research.graph.step import build_step_graph

PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
FRONT_MATTER = re.compile(r"^---\n.*?---\n", re.DOTALL)


def drawings() -> list[str]:
    """Return the graphs as Mermaid."""
    graphs = (build_orchestrated_graph(), build_researcher_graph(), build_planned_graph(), build_step_graph())
    drawn = (FRONT_MATTER.sub("", compile_drawable(graph).get_graph().draw_mermaid()) for graph in graphs)
    return [f"```mermaid\n{drawing.strip()}\n```" for drawing in drawn]


def drawn(page: str) -> str:
    """The page with the present drawings."""
    present = iter(drawings())
    return re.sub(r"```mermaid\n.*?\n```", lambda _: next(present), page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
