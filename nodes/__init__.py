"""The nodes of both graphs, one file each, named after the node.

They return state updates and never choose edges. Owns one function per node, `async def verb(state,
runtime)`, such as writing the plan, the report or a finding, clarifying, grading or verifying, and
the helpers that one node alone needs.

The frame of the nodes is in `turn` (settings, packets and costs of one execution), `step_turn` (the
same for a step of a plan) and `answers` (the pause for the user and their answer); nodes import no
other node. Modules that begin with an underscore hold what follows from a model's calls (`_orders`,
`researcher/_next_action`), and which steps of a plan are due (`_steps`).

`researcher/` and `step/` hold the nodes of the two subgraphs. `graph/` wires them. Start with
`begin.py`, the entry, then `orchestrate.py` (a model decides what is researched next) or
`schedule.py` (the typed plan decides).
"""
