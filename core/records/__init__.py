"""The records of a run: frozen, immutable pydantic models that travel in the state and are stored with it.

Begin with `research` (what researchers are given and bring back) and `plan` (the typed plan and its learnings).
"""
