"""The shape of the graphs: nodes, edges and error handlers; nothing else wires nodes.

Owns the functions that build the graphs, every routing and dispatch function (pure functions of the
state that return the next node), and the handlers of failed nodes.

Public modules; read `orchestrated` first. The package imports only `strategies`; the others have
plain names because apps may compile their graphs themselves.

- `orchestrated`: the graph in which a model decides what is researched, with its researchers
- `planned`: the graph that follows a typed plan, with its steps
- `table`: the graph that finds the rows of a table and fills them
- `strategies`: compiles the graph of a strategy
- `drawable`: compiles a graph that can be drawn with its branches

All graphs use `_routing` (all conditional edges) and `_handlers` (failed nodes).
"""
