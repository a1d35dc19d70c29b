"""The records of a run: frozen pydantic models in the graph state, stored with every checkpoint.

`research` has the run, its tasks, findings and spending, and the reducers that merge them; `plan` has the typed plan,
learnings and observations; `report` has drafts, checked claims and the audit; `sources` has sources and unread files.
Start with `research`. Field names are a stored format.
"""
