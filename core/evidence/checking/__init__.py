"""Checks a report's statements against its sources, without a model.

`units` splits a report into checked units, `source_text` prepares source texts for comparison, and
`verification` finds the best passage for each unit, accepts quotes, and compares a second check
with the first. `proof` verifies a model's judgement using the source words and numbers that it
cites. Start with `verification`; the model's judging is in `core/writing/_judging.py`.
"""
