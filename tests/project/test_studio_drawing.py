"""Studio draws the graphs as they are."""

from __future__ import annotations

import pytest

from deep_research.app.server import graphs as server
from deep_research.graph.drawable import DrawableGraph


@pytest.mark.parametrize(
    ("graph", "inside"),
    [
        (server.deep_research, {"think_or_act", "use_tools", "write_finding"}),
        (server.table_research, {"think_or_act", "use_tools", "write_finding"}),
        (server.planned_research, {"choose_queries", "search", "study", "analyze", "evaluate"}),
    ],
)
async def test_studio_draws_the_nodes_of_each_branch_and_no_error_handler(
    graph: DrawableGraph, inside: set[str]
) -> None:
    drawing = await graph.aget_graph(xray=True)
    assert drawing.nodes.keys() == graph.get_graph(xray=True).nodes.keys()
    opened = {name.partition(":")[2] for name in drawing.nodes if ":" in name}
    assert opened - {"__start__"} == inside
    ends = {name for edge in drawing.edges for name in (edge.source, edge.target)}
    assert ends == set(drawing.nodes), "each node is drawn with an edge"
