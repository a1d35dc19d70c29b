"""The records of a run: frozen pydantic models in the graph state, stored with every checkpoint.

Owns the data that travels between nodes, its reducers (`merge_…`), and small functions of records alone: ids,
hashes, totals of costs, keys and titles of sources. Nothing here reads a text's meaning, a setting, or a file.

`research` has the run, its tasks, findings and spending; `plan` has the typed plan, learnings and observations;
`report` has drafts, checked claims and the audit; `sources` has sources and unread files. Start with `research`.
Field names are a stored format.
"""
