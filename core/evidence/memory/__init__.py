"""The research memory of a run: learnings, and observations about them.

`learned` extracts learnings from findings, merges them into facts, and computes the confidence in
them. `observations` has the views of the memory (insights, open gaps, contradictions), and the
notes below a report: what was not found, opened or verified. `disputes` makes the records of
contradictions, and shows them in prompts and reports. Start with `observations`.
"""
