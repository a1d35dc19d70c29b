"""The records of a run: frozen pydantic models in the graph state, stored with every checkpoint.

Owns the data that nodes pass on through the state (`state.py`). Functions and methods only derive a
value from a record's fields: an id, a hash, a date, a publisher's kind, the cited sources of a
report. Nothing here interprets a text, or reads a setting or a file. Names of records and fields
are part of the stored format.

Public modules: `research` (the run, its tasks, tool calls, calculations, findings and spending),
`plan` (steps, learnings and observations of the planned strategy), `report` (drafts, checked
claims, the audit), `table` (columns, rows and cells of a table, and its tasks), `sources` (sources,
their contradictions, unread files), `tool_names` (how models call tools) and `langgraph_private`
(the only module that imports private names of another package). Start with `research`.
"""
