"""Draws the graphs into docs/concepts.md and docs/architecture.md."""

from __future__ import annotations

import re
from pathlib import Path

from deep_research.graph.drawable import compile_drawable
from deep_research.graph.orchestrated import build_orchestrated_graph
from deep_research.graph.planned import build_planned_graph
from deep_research.graph.researcher import build_researcher_graph
from deep_research.graph.step import build_step_graph

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = {
    DOCS / "concepts.md": (build_orchestrated_graph,),
    DOCS / "architecture.md": (build_researcher_graph, build_planned_graph, build_step_graph),
}
FRONT_MATTER = re.compile(r"^---\n.*?---\n", re.DOTALL)


def drawn(path: Path) -> str:
    """Return the page with its graphs as they are now."""
    text = path.read_text(encoding="utf-8")
    graphs = (compile_drawable(build()).get_graph().draw_mermaid() for build in PAGES[path])
    drawings = iter([f"```mermaid\n{FRONT_MATTER.sub('', graph).strip()}\n```" for graph in graphs])
    assert text.count("```mermaid") == len(PAGES[path])
    return re.sub(r"```mermaid\n.*?\n```", lambda _: next(drawings), text, flags=re.DOTALL)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(drawn(path), encoding="utf-8")
