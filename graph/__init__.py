"""The shape of the graphs: nodes, edges and error handlers; nothing else wires nodes.

Owns the functions that build the graphs, every routing and dispatch function (pure functions of the
state that return the next node), and the handlers of failed nodes.

Begin with `orchestrated` or `planned`, each with the subgraph of its branches, a researcher or a
step. Both use `routing` (all conditional edges) and `handlers` (failed nodes).
"""
