"""The nodes of all graphs, one file each, named after the node.

They return state updates and never choose edges. Owns one function per node, `async def verb(state,
runtime)`, such as writing the plan, the report or a finding, clarifying, grading or verifying, with
the form that its model fills in and the helpers that it alone needs. `researcher/` and `step/` hold
the nodes of the two subgraphs; `graph/` wires them.

Nodes import no other node, only their frame:

- `turn`: one execution of a node: its settings, state, packets and costs
- `step_turn`: the same for a step of a plan, with what is known and learned there, and the forms
  that models fill in on its results

Read `begin` first, the entry, then `orchestrate` (a model decides what is researched next),
`schedule` (the typed plan decides) or `find_rows` (the rows of a table decide). Every module that
is named after a node is public.
"""
