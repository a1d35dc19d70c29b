"""The shape of the graphs: nodes, edges and error handlers; nothing else wires nodes.

Begin with `orchestrated` or `planned`; both use `routing` (all conditional edges) and `handlers` (failed nodes).
`researcher` and `step` are their subgraphs.
"""
