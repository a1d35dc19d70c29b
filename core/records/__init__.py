"""The records of a run: frozen pydantic models in the graph state, stored with every checkpoint.

Owns the data that nodes pass on through the state, and the reducers that merge their updates
(`merge_…`, `append`, `latest`). The other functions and methods only derive a value from a record's
fields: an id, a hash, a date, the cited sources of a report. Nothing here interprets a text, or
reads a setting or a file.

`research` has the run, its tasks, findings and spending; `plan` the steps, learnings and
observations of the planned strategy; `dispute` contradictions between sources; `report` drafts,
checked claims and the audit; `sources` sources and unread files. Start with `research`. Names of
records and fields are part of the stored format. `langgraph_private` is the only module that
imports private names of another package.
"""
