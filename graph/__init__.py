"""The shape of the graphs: nodes, edges and error handlers; nothing else wires nodes.

Owns the builders of the graphs, every routing and dispatch function (what comes next, as a pure function of the
state), and what happens when a node fails.

Begin with `orchestrated` or `planned`; both use `routing` (all conditional edges) and `handlers` (failed nodes).
`researcher` and `step` are their subgraphs.
"""
