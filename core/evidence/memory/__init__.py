"""The research memory of a run: learnings, and observations about them.

Public modules:

- `observations`: the insights, open gaps and contradictions that observations come to, and the
  disputes of a thread.
- `learned`: extracts learnings from findings, merges them into facts, and rates them.

Start with `observations`. The notes for the reader are in `core/writing/notes.py`.
"""
